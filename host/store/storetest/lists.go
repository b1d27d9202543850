package storetest

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/store"
)

func content(json []byte) string { return gjson.GetBytes(json, "content").Str }

// cases are requests with the keys that they must list.
type cases []struct {
	name string
	r    abi.ListRequest
	want []string
}

func (cs cases) check(t *testing.T, s store.Store) {
	t.Helper()
	for _, c := range cs {
		if c.r.Limit == 0 {
			c.r.Limit = 50
		}
		page := list(t, s, &c.r)
		if got := keys(page); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if page.More {
			t.Errorf("%s: more is true", c.name)
		}
	}
}

func testListFilters(t *testing.T, s store.Loader) {
	const (
		cron   = "agent:main:cron:daily"
		group  = "agent:main:discord:group:1"
		hook   = "agent:main:hook:u"
		node   = "agent:main:node-1"
		direct = "agent:main:telegram:ann"
		child  = "agent:main:subagent:1"
		ops    = "agent:ops:cron:daily"
		old    = "agent:ops:old"
	)
	put(t, s,
		&abi.Session{Key: cron, UpdatedAt: 8, Label: "x"},
		&abi.Session{Key: group, UpdatedAt: 7, Label: "X"},
		&abi.Session{Key: hook, UpdatedAt: 6},
		&abi.Session{Key: node, UpdatedAt: 5, Label: "x"},
		&abi.Session{Key: direct, UpdatedAt: 4},
		&abi.Session{Key: child, UpdatedAt: 4},
		&abi.Session{Key: ops, UpdatedAt: 3, Label: "x"},
		&abi.Session{Key: old, UpdatedAt: 9, ArchivedAt: 1, Label: "x"},
	)
	cases{
		{"all", abi.ListRequest{}, []string{cron, group, hook, node, child, direct, ops}},
		{"archived", abi.ListRequest{IncludeArchived: true}, []string{old, cron, group, hook, node, child, direct, ops}},
		{"no kinds are all kinds", abi.ListRequest{Kinds: []string{}}, []string{cron, group, hook, node, child, direct, ops}},
		{"cron", abi.ListRequest{Kinds: []string{"cron"}}, []string{cron, ops}},
		{"hook and node", abi.ListRequest{Kinds: []string{"node", "hook", "node"}}, []string{hook, node}},
		{"group", abi.ListRequest{Kinds: []string{"group"}}, []string{group}},
		{"other", abi.ListRequest{Kinds: []string{"other"}}, []string{child, direct}},
		{"other, archived", abi.ListRequest{Kinds: []string{"other"}, IncludeArchived: true}, []string{old, child, direct}},
		{"unknown kind", abi.ListRequest{Kinds: []string{"crons"}}, []string{}},
		{"agent", abi.ListRequest{AgentID: "ops"}, []string{ops}},
		{"absent agent", abi.ListRequest{AgentID: "op"}, []string{}},
		{"label", abi.ListRequest{Label: "x"}, []string{cron, node, ops}},
		{"label, archived", abi.ListRequest{Label: "x", IncludeArchived: true}, []string{old, cron, node, ops}},
		{"label and kind", abi.ListRequest{Label: "x", Kinds: []string{"cron"}}, []string{cron, ops}},
		{"label, kind and agent", abi.ListRequest{Label: "x", Kinds: []string{"cron"}, AgentID: "ops"}, []string{ops}},
		{"active", abi.ListRequest{ActiveSince: 6}, []string{cron, group, hook}},
		{"active and label", abi.ListRequest{ActiveSince: 4, Label: "x"}, []string{cron, node}},
		{"after a row", abi.ListRequest{After: &abi.Position{UpdatedAt: 6, Key: hook}}, []string{node, child, direct, ops}},
		{"after the first of equals", abi.ListRequest{After: &abi.Position{UpdatedAt: 4, Key: child}}, []string{direct, ops}},
		{"after a position without a row", abi.ListRequest{After: &abi.Position{UpdatedAt: 5}}, []string{node, child, direct, ops}},
		{"after a row and active", abi.ListRequest{After: &abi.Position{UpdatedAt: 6, Key: hook}, ActiveSince: 5}, []string{node}},
		{"after all rows", abi.ListRequest{After: &abi.Position{UpdatedAt: 1}}, []string{}},
	}.check(t, s)
	page := list(t, s, &abi.ListRequest{Limit: 7})
	if len(page.Rows) != 7 || page.More {
		t.Errorf("a limit equal to the number of rows: %d rows, more %v", len(page.Rows), page.More)
	}
	page = list(t, s, &abi.ListRequest{Limit: 6})
	if len(page.Rows) != 6 || !page.More || page.Rows[0].Messages != nil {
		t.Errorf("a limit below the number of rows: %d rows, more %v, messages %v", len(page.Rows), page.More, page.Rows[0].Messages)
	}
}

func testListScopes(t *testing.T, s store.Loader) {
	const (
		parent = "agent:main:p"
		own    = "agent:main:subagent:1"
		far    = "agent:ops:subagent:2"
		named  = "agent:ops:subagent:3"
		ops    = "agent:ops:x"
		dev    = "agent:dev-1:x"
	)
	put(t, s,
		&abi.Session{Key: parent, UpdatedAt: 9},
		&abi.Session{Key: own, UpdatedAt: 8, SpawnedBy: parent},
		&abi.Session{Key: far, UpdatedAt: 7, SpawnedBy: parent},
		&abi.Session{Key: named, UpdatedAt: 6, SpawnedBy: parent, Label: "w"},
		&abi.Session{Key: ops, UpdatedAt: 5, Label: "w", SpawnedBy: own},
		&abi.Session{Key: dev, UpdatedAt: 4, Label: "w"},
		&abi.Session{Key: "unknown", UpdatedAt: 10},
	)
	in := func(scope abi.Scope) abi.ListRequest { return abi.ListRequest{Scope: &scope} }
	tree := abi.Scope{Keys: []string{parent}, SpawnedBy: parent}
	cases{
		{"nothing", in(abi.Scope{}), []string{}},
		{"an agent", in(abi.Scope{Agents: []string{"main"}}), []string{parent, own}},
		{"all agents", in(abi.Scope{Agents: []string{"*"}}), []string{parent, own, far, named, ops, dev}},
		{"patterns", in(abi.Scope{Agents: []string{"d*-*1", "m*i*n", "o"}}), []string{parent, own, dev}},
		{"an empty pattern", in(abi.Scope{Agents: []string{""}}), []string{}},
		{"keys", in(abi.Scope{Keys: []string{dev, parent, dev, "agent:x:absent", "unknown"}}), []string{parent, dev}},
		{"self and children", in(tree), []string{parent, own, far, named}},
		{"children only", in(abi.Scope{SpawnedBy: parent}), []string{own, far, named}},
		{"a union without duplicates", in(abi.Scope{Agents: []string{"main", "m*"}, Keys: []string{parent, far}, SpawnedBy: parent}), []string{parent, own, far, named}},
		{"tree and agent", abi.ListRequest{Scope: &tree, AgentID: "ops"}, []string{far, named}},
		{"tree and label", abi.ListRequest{Scope: &tree, Label: "w"}, []string{named}},
		{"tree and kind", abi.ListRequest{Scope: &tree, Kinds: []string{"cron"}}, []string{}},
		{"tree, label and agent", abi.ListRequest{Scope: &tree, Label: "w", AgentID: "main"}, []string{}},
		{"agent and label", abi.ListRequest{Scope: &abi.Scope{Agents: []string{"ops"}}, Label: "w"}, []string{named, ops}},
		{"all agents and label", abi.ListRequest{Scope: &abi.Scope{Agents: []string{"*"}}, Label: "w"}, []string{named, ops, dev}},
		{"keys and filters", abi.ListRequest{Scope: &abi.Scope{Keys: []string{parent, ops, dev}}, Label: "w", ActiveSince: 5}, []string{ops}},
		{"keys, after a row", abi.ListRequest{Scope: &abi.Scope{Keys: []string{parent, ops, dev}}, After: &abi.Position{UpdatedAt: 5, Key: ops}}, []string{dev}},
		{"search in a tree", abi.ListRequest{Scope: &tree, Search: "agent:OPS"}, []string{far, named}},
	}.check(t, s)
}

func testListMain(t *testing.T, s store.Loader) {
	const (
		main = "agent:main:main"
		ops  = "agent:ops:main"
		work = "agent:ops:work"
		cron = "agent:ops:cron:x"
	)
	put(t, s,
		&abi.Session{Key: "global", AgentID: "main", UpdatedAt: 9, Label: "g"},
		&abi.Session{Key: "agent:ops:global", UpdatedAt: 9},
		&abi.Session{Key: "agent:ops:unknown", UpdatedAt: 9},
		&abi.Session{Key: main, UpdatedAt: 8},
		&abi.Session{Key: ops, UpdatedAt: 7, SpawnedBy: main},
		&abi.Session{Key: work, UpdatedAt: 6},
		&abi.Session{Key: cron, UpdatedAt: 5},
	)
	kinds := func(kinds ...string) abi.ListRequest { return abi.ListRequest{Kinds: kinds} }
	with := func(r abi.ListRequest, change func(*abi.ListRequest)) abi.ListRequest { change(&r); return r }
	cases{
		{"all", abi.ListRequest{}, []string{main, ops, work, cron}},
		{"main", kinds("main"), []string{main, ops}},
		{"main of an agent", with(kinds("main"), func(r *abi.ListRequest) { r.AgentID = "ops" }), []string{ops}},
		{"main in a scope", with(kinds("main"), func(r *abi.ListRequest) { r.Scope = &abi.Scope{Agents: []string{"ma*"}} }), []string{main}},
		{"main among children", with(kinds("main"), func(r *abi.ListRequest) { r.Scope = &abi.Scope{SpawnedBy: main} }), []string{ops}},
		{"main, active", with(kinds("main"), func(r *abi.ListRequest) { r.ActiveSince = 8 }), []string{main}},
		{"main and cron", kinds("main", "cron"), []string{main, ops, cron}},
		{"other", kinds("other"), []string{work}},
		{"every kind", kinds("main", "group", "cron", "hook", "node", "other"), []string{main, ops, work, cron}},
		{"main under another name", with(kinds("main"), func(r *abi.ListRequest) { r.MainKey = "work" }), []string{work}},
		{"the alias main is hidden then", with(kinds("other", "cron"), func(r *abi.ListRequest) { r.MainKey = "work" }), []string{cron}},
		{"a main session that looks like cron", with(kinds("cron"), func(r *abi.ListRequest) { r.MainKey = "cron:x" }), []string{}},
		{"a main session that looks like cron, main", with(kinds("main"), func(r *abi.ListRequest) { r.MainKey = "cron:x" }), []string{cron}},
		{"global scope", abi.ListRequest{Global: "ops"}, []string{"global", work, cron}},
		{"global scope, another main key", abi.ListRequest{Global: "ops", MainKey: "work"}, []string{"global", cron}},
		{"global scope, main", with(kinds("main"), func(r *abi.ListRequest) { r.Global = "ops" }), []string{"global"}},
		{"global scope, other", with(kinds("other"), func(r *abi.ListRequest) { r.Global = "ops" }), []string{work}},
		{"global scope, agent", abi.ListRequest{Global: "ops", AgentID: "ops"}, []string{"global", work, cron}},
		{"global scope, other agent", abi.ListRequest{Global: "ops", AgentID: "main"}, []string{}},
		{"global scope, in scope", abi.ListRequest{Global: "ops", Scope: &abi.Scope{Agents: []string{"ops"}}}, []string{"global", work, cron}},
		{"global scope, by key", abi.ListRequest{Global: "ops", Scope: &abi.Scope{Keys: []string{"global", main}}}, []string{"global"}},
		{"global scope, not in scope", abi.ListRequest{Global: "ops", Scope: &abi.Scope{Agents: []string{"main"}}}, []string{}},
		{"global scope, label", abi.ListRequest{Global: "ops", Label: "g"}, []string{"global"}},
		{"label without global scope", abi.ListRequest{Label: "g"}, []string{}},
		{"global without global scope", abi.ListRequest{Scope: &abi.Scope{Keys: []string{"global", "agent:ops:global"}}}, []string{}},
		{"search without global scope", abi.ListRequest{Search: "glob"}, []string{}},
	}.check(t, s)
}

func testListSearch(t *testing.T, s store.Loader) {
	const a, b, c = "agent:main:discord:group:Dev", "agent:main:b", "agent:main:c"
	put(t, s,
		&abi.Session{Key: a, UpdatedAt: 3, Label: "Größe", DisplayName: "100%_\\", Subject: "Kelvin: \u212a"},
		&abi.Session{Key: b, UpdatedAt: 2, Label: "ΣΊΣΥΦΟΣ", DisplayName: "Привет", Subject: "İstanbul"},
		&abi.Session{Key: c, UpdatedAt: 1, Label: "one", DisplayName: "two", Subject: "three\x1ffour"},
	)
	var all cases
	for text, want := range map[string][]string{
		"group:dev": {a}, "GRÖSSE": {}, "GRÖẞE": {a}, "größe": {a}, "%_\\": {a}, "%": {a}, "_": {a}, "ROSS": {},
		"σίσυφος": {b}, "ПРИВЕТ": {b}, "İst": {b}, "ist": {}, "istanbul": {}, "kelvin: k": {a},
		"onetwo": {}, "e\x1ft": {}, "e\x1ff": {c}, "AGENT:MAIN": {a, b, c}, "absent": {}, "two": {c}, "O": {a, c},
	} {
		all = append(all, cases{{text, abi.ListRequest{Search: text}, want}}...)
	}
	all.check(t, s)
}
