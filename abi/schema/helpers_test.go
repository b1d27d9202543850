package schema

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
)

// messages holds the compiled definitions, and the parts of them that valid messages
// have covered.
type messages struct {
	doc     any
	defs    map[string]*jsonschema.Schema
	covered map[string]bool // JSON Pointers of definitions and properties
}

func loadMessages(t *testing.T) *messages {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(Messages))
	if err != nil {
		t.Fatal(err)
	}
	id := doc.(map[string]any)["$id"].(string)
	c := jsonschema.NewCompiler()
	if err := c.AddResource(id, doc); err != nil {
		t.Fatal(err)
	}
	m := &messages{doc: doc, defs: map[string]*jsonschema.Schema{}, covered: map[string]bool{}}
	for name := range m.object("/$defs") {
		if m.defs[name], err = c.Compile(id + "#/$defs/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if root, err := c.Compile(id); err != nil || root.Validate(map[string]any{}) == nil {
		t.Errorf("the root schema accepts a message, or does not compile: %v", err)
	}
	return m
}

func (m *messages) object(pointer string) map[string]any {
	v, _ := jsonvalue.Lookup(m.doc, pointer)
	o, _ := v.(map[string]any)
	return o
}

// check validates a message, and records the parts of the schema that a valid one
// covers.
func (m *messages) check(name string, doc []byte) error {
	def := m.defs[name]
	if def == nil {
		return fmt.Errorf("no definition %s", name)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	if err := def.Validate(v); err != nil {
		return fmt.Errorf("%s: %.2000s: %w", name, doc, err)
	}
	m.cover("/$defs/"+name, m.object("/$defs/"+name), v)
	return nil
}

// cover records the parts of the schema at pointer that the valid message v covers: the
// members that the schema names, in every branch.
func (m *messages) cover(pointer string, schema map[string]any, v any) {
	m.covered[pointer] = true
	if ref, ok := schema["$ref"].(string); ok {
		pointer := strings.TrimPrefix(ref, "#")
		m.cover(pointer, m.object(pointer), v)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		branches, _ := schema[keyword].([]any)
		for i, branch := range branches {
			m.cover(pointer+"/"+keyword+"/"+strconv.Itoa(i), branch.(map[string]any), v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		dependents, _ := schema["dependentSchemas"].(map[string]any)
		for name, member := range v {
			if s, ok := properties[name].(map[string]any); ok {
				m.cover(pointer+"/properties/"+name, s, member)
			}
			if s, ok := dependents[name].(map[string]any); ok {
				m.cover(pointer+"/dependentSchemas/"+name, s, v)
			}
		}
	case []any:
		if s, ok := schema["items"].(map[string]any); ok {
			for _, item := range v {
				m.cover(pointer+"/items", s, item)
			}
		}
	}
}

// uncovered returns the definitions and properties that no valid message has covered.
func (m *messages) uncovered(pointer string, v any) (missing []string) {
	switch v := v.(type) {
	case map[string]any:
		named := strings.HasSuffix(pointer, "/properties") || pointer == "/$defs"
		for name, value := range v {
			at := pointer + "/" + name
			if _, ok := value.(map[string]any); named && ok && !m.covered[at] {
				missing = append(missing, at)
			}
			missing = append(missing, m.uncovered(at, value)...)
		}
	case []any:
		for i, value := range v {
			missing = append(missing, m.uncovered(pointer+"/"+strconv.Itoa(i), value)...)
		}
	}
	return missing
}
