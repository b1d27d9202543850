package vector

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

var (
	vectorID  = regexp.MustCompile(`^S\d+(\.\d+)?/[a-z0-9-]+$`)
	sectionID = regexp.MustCompile(`^S\d+(\.\d+)?$`)
)

// Load reads every vector of a folder, in the order of the file names. Its error
// joins all problems found.
func Load(dir fs.FS) ([]*Vector, error) {
	return Select(dir, func(*Vector) bool { return true })
}

// Select is like Load, but returns only the vectors for which wanted returns true and
// those that they name in SameAs. It validates the other vectors too, except for their
// stores. Reading stores takes the most time, so Select reads them last: Vector.Store
// is nil when wanted is called.
func Select(dir fs.FS, wanted func(*Vector) bool) ([]*Vector, error) {
	var all []*Vector
	var problems []error
	l := &loader{dir: dir, stores: map[string]*Contents{}}
	err := fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name == "stores" {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".json" {
			return nil
		}
		vectors, err := l.file(name)
		if err != nil {
			problems = append(problems, err)
		}
		all = append(all, vectors...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	problems = append(problems, check(all)...)
	keep := map[string]bool{}
	for _, v := range all {
		if wanted(v) {
			keep[v.ID], keep[v.SameAs] = true, true
		}
	}
	all = slices.DeleteFunc(all, func(v *Vector) bool { return !keep[v.ID] })
	for _, v := range all {
		if v.Store, err = l.store(v.store); err != nil {
			problems = append(problems, fmt.Errorf("vectors: %s: %s: store: %w", v.File, v.ID, err))
		}
		v.store = nil
	}
	return all, errors.Join(problems...)
}

// check reports problems that involve several vectors.
func check(all []*Vector) (problems []error) {
	byID := map[string]*Vector{}
	for _, v := range all {
		if first, dup := byID[v.ID]; dup {
			problems = append(problems, fmt.Errorf("vectors: %s: %s is also in %s; ids must be unique", v.File, v.ID, first.File))
		}
		byID[v.ID] = v
	}
	for _, v := range all {
		if v.SameAs != "" && byID[v.SameAs] == nil {
			problems = append(problems, fmt.Errorf("vectors: %s: %s: sameAs: vector %s does not exist", v.File, v.ID, v.SameAs))
		}
	}
	return problems
}

type loader struct {
	dir    fs.FS
	stores map[string]*Contents // read from stores/, shared by the vectors that name them
}

func (l *loader) file(name string) ([]*Vector, error) {
	text, err := fs.ReadFile(l.dir, name)
	if err != nil {
		return nil, fmt.Errorf("vectors: %w", err)
	}
	doc, err := jsonvalue.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("vectors: %s: %w", name, err)
	}
	items, ok := doc.([]any)
	if !ok {
		return nil, fmt.Errorf("vectors: %s: want an array of vectors", name)
	}
	var all []*Vector
	var problems []error
	for i, item := range items {
		o, _ := item.(map[string]any)
		v, err := l.vector(o)
		if err != nil {
			problems = append(problems, fmt.Errorf("vectors: %s: %d %v: %w", name, i, o["id"], err))
			continue
		}
		v.File = name
		all = append(all, v)
	}
	return all, errors.Join(problems...)
}

func (l *loader) vector(o map[string]any) (*Vector, error) {
	if err := jsonvalue.Only(o, "id", "spec", "about", "now", "config", "store", "caller", "agents", "before",
		"call", "follow", "cost", "expect", "steps", "then", "sameAs", "gap"); err != nil {
		return nil, err
	}
	v := &Vector{ID: jsonvalue.Text(o["id"]), Config: []byte("{}")}
	if !vectorID.MatchString(v.ID) {
		return nil, fmt.Errorf("id: want a section, a slash and a lower-case name, as in S2.1/limit-default")
	}
	for _, s := range jsonvalue.List(o["spec"]) {
		if !sectionID.MatchString(jsonvalue.Text(s)) {
			return nil, fmt.Errorf("spec: %s is not a section", jsonvalue.Truncate(s))
		}
		v.Spec = append(v.Spec, jsonvalue.Text(s))
	}
	for name, to := range map[string]*string{"about": &v.About, "sameAs": &v.SameAs, "gap": &v.Gap} {
		if jsonvalue.Has(o, name) {
			s, ok := o[name].(string)
			if !ok || s == "" {
				return nil, fmt.Errorf("%s: want a non-empty string", name)
			}
			*to = s
		}
	}
	if v.About == "" {
		return nil, fmt.Errorf("about: want one sentence that describes the vector")
	}
	now, err := jsonvalue.Integer(o, "now", DefaultNow)
	if err != nil {
		return nil, err
	}
	v.Now = int64(now)
	if c, ok := o["config"].(map[string]any); ok {
		if err := jsonvalue.Only(c, "session", "tools", "agents", "models", "runs", "delivery"); err != nil {
			return nil, fmt.Errorf("config: %w", err)
		}
		v.Config = jsonvalue.Compact(c)
	} else if jsonvalue.Has(o, "config") {
		return nil, fmt.Errorf("config: want an object")
	}
	v.store = o["store"]
	if v.Caller, err = caller(o["caller"]); err != nil {
		return nil, fmt.Errorf("caller: %w", err)
	}
	if v.Agents, err = script(o["agents"]); err != nil {
		return nil, fmt.Errorf("agents: %w", err)
	}
	if v.Before, err = before(o["before"]); err != nil {
		return nil, fmt.Errorf("before: %w", err)
	}
	if v.Then, err = then(o["then"]); err != nil {
		return nil, fmt.Errorf("then: %w", err)
	}
	v.Steps, err = steps(o)
	return v, err
}

func (l *loader) store(v any) (*Contents, error) {
	name, named := v.(string)
	if !named {
		if v == nil {
			return &Contents{}, nil
		}
		return contents(v)
	}
	if c := l.stores[name]; c != nil {
		return c, nil
	}
	text, err := fs.ReadFile(l.dir, path.Join("stores", name+".json"))
	if err != nil {
		return nil, err
	}
	doc, err := jsonvalue.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l.stores[name], err = contents(doc)
	return l.stores[name], err
}

func caller(v any) (abi.Caller, error) {
	if v == nil {
		v = DefaultCaller
	}
	if key, ok := v.(string); ok {
		if key == "operator" {
			return abi.Caller{Operator: true}, nil
		}
		agent, _, ok := sessionkey.Split(key)
		if !ok {
			return abi.Caller{}, fmt.Errorf("%q is neither \"operator\" nor a canonical key", key)
		}
		c := abi.Caller{SessionKey: key, AgentID: agent}
		if sessionkey.IsChild(key) {
			c.Depth = 1
		}
		return c, nil
	}
	o, _ := v.(map[string]any)
	var c abi.Caller
	f := jsonvalue.Fields{Object: o, What: "caller"}
	f.Text("sessionKey", &c.SessionKey)
	f.Text("agentId", &c.AgentID)
	f.Text("channel", &c.Channel)
	f.Text("to", &c.To)
	f.Text("accountId", &c.AccountID)
	f.Text("threadId", &c.ThreadID)
	f.Flag("sandboxed", &c.Sandboxed)
	f.Flag("operator", &c.Operator)
	f.Int("depth", &c.Depth)
	f.Int("hops", &c.Hops)
	f.Text("runId", &c.RunID)
	if c.AgentID == "" {
		c.AgentID, _, _ = sessionkey.Split(c.SessionKey)
	}
	return c, f.Done()
}
