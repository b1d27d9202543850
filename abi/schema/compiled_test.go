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

// messages are the compiled definitions, and what of them valid messages have met.
type messages struct {
	doc  any
	defs map[string]*jsonschema.Schema
	met  map[string]bool // JSON Pointers of definitions and of properties
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
	m := &messages{doc: doc, defs: map[string]*jsonschema.Schema{}, met: map[string]bool{}}
	for name := range m.object("/$defs") {
		if m.defs[name], err = c.Compile(id + "#/$defs/" + name); err != nil {
			t.Fatal(err)
		}
	}
	if root, err := c.Compile(id); err != nil || root.Validate(map[string]any{}) == nil {
		t.Errorf("the document itself accepts a message, or %v", err)
	}
	return m
}

func (m *messages) object(pointer string) map[string]any {
	v, _ := jsonvalue.Lookup(m.doc, pointer)
	o, _ := v.(map[string]any)
	return o
}

// check validates a message. What a valid one meets of the schema is noted.
func (m *messages) check(name string, doc []byte) error {
	def := m.defs[name]
	if def == nil {
		return fmt.Errorf("there is no definition %s", name)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	if err := def.Validate(v); err != nil {
		return fmt.Errorf("%s: %.2000s: %w", name, doc, err)
	}
	m.meet("/$defs/"+name, m.object("/$defs/"+name), v)
	return nil
}

// meet follows a schema, which lies at a pointer, along a valid message: what it has
// of the members that the schema names, those of every branch included.
func (m *messages) meet(pointer string, schema map[string]any, v any) {
	m.met[pointer] = true
	if ref, ok := schema["$ref"].(string); ok {
		pointer := strings.TrimPrefix(ref, "#")
		m.meet(pointer, m.object(pointer), v)
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		branches, _ := schema[keyword].([]any)
		for i, branch := range branches {
			m.meet(pointer+"/"+keyword+"/"+strconv.Itoa(i), branch.(map[string]any), v)
		}
	}
	switch v := v.(type) {
	case map[string]any:
		properties, _ := schema["properties"].(map[string]any)
		dependents, _ := schema["dependentSchemas"].(map[string]any)
		for name, member := range v {
			if s, ok := properties[name].(map[string]any); ok {
				m.meet(pointer+"/properties/"+name, s, member)
			}
			if s, ok := dependents[name].(map[string]any); ok {
				m.meet(pointer+"/dependentSchemas/"+name, s, v)
			}
		}
	case []any:
		if s, ok := schema["items"].(map[string]any); ok {
			for _, item := range v {
				m.meet(pointer+"/items", s, item)
			}
		}
	}
}

// unmet returns the definitions and properties that no valid message has met.
func (m *messages) unmet(pointer string, v any) (missing []string) {
	switch v := v.(type) {
	case map[string]any:
		named := strings.HasSuffix(pointer, "/properties") || pointer == "/$defs"
		for name, value := range v {
			at := pointer + "/" + name
			if _, ok := value.(map[string]any); named && ok && !m.met[at] {
				missing = append(missing, at)
			}
			missing = append(missing, m.unmet(at, value)...)
		}
	case []any:
		for i, value := range v {
			missing = append(missing, m.unmet(pointer+"/"+strconv.Itoa(i), value)...)
		}
	}
	return missing
}
