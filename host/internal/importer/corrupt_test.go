package importer

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/parley-wasm/parley/abi"
)

// TestCorrupt imports directories with problems. Each case has the problem's kind,
// position and a part of its text, and the number of records that are still imported.
func TestCorrupt(t *testing.T) {
	const file = "agents/main/sessions/s1.jsonl"
	ok := messageLine("ok", "user", "hello")
	store := func(text string) files { return files{mainStore: text, file: header("s1") + ok} }
	other := files{"agents/ops/sessions/sessions.json": `{"main":{"sessionId":"o","updatedAt":1}}`}
	tests := []struct {
		name                 string
		files                files
		kind, position, text string
		sessions, messages   int
	}{
		{"store is not JSON", store("{\n\"main\": nope\n}"), BadStore, mainStore + ":2", "neither JSON nor JSON5", 1, 0},
		{"store is truncated", store("{\n\"main\": {\"sessionId\": \"s1\","), BadStore, mainStore + ":2", "neither", 1, 0},
		{"store is a list", store("[1]"), BadStore, mainStore + ":1", "not a JSON object", 1, 0},
		{"store is empty", store(" \n"), BadStore, mainStore + ":1", "empty", 1, 0},
		{"store leaves orphans", store("nope"), Orphan, file, "no session entry refers to it", 1, 0},
		{"store is nested too deep", store(`{"main":` + strings.Repeat("[", 20000)), BadStore, mainStore + ":1", "max depth", 1, 0},
		{"store is JSON5", store("// edited\n{'main': {sessionId: 's1', updatedAt: +1, totalTokens: 0x10,},}"), "", "", "", 2, 1},
		{"JSON5 has lines", store("// edited\n{'main': {sessionId: 's1', updatedAt: 1},\n'bad': 5,}"), BadEntry, mainStore + ":3", "number 5", 2, 1},
		{"entry is null", store(`{"main":null}`), BadEntry, mainStore + ":1", "null, not an object", 1, 0},
		{"entry is too deep", store(`{"main":` + strings.Repeat(`{"a":`, 80) + "1" + strings.Repeat("}", 80) + `}`), BadEntry, mainStore + ":1", "", 1, 0},
		{"no sessionId", store(`{"main":{"sessionId":" ","updatedAt":1}}`), BadEntry, mainStore + ":1", "no sessionId", 1, 0},
		{"sessionId with a parent directory", store(`{"main":{"sessionId":"../s1","updatedAt":1}}`), BadEntry, mainStore + ":1", "path", 1, 0},
		{"sessionId has a control character", store(`{"main":{"sessionId":"s\u0000","updatedAt":1}}`), BadEntry, mainStore + ":1", "control", 1, 0},
		{"wrong types", store(`{"main":{"sessionId":"s1","updatedAt":1,"label":[],"systemSent":"yes","deliveryContext":3}}`), BadField, mainStore + ":1", "label is an array", 2, 1},
		{"negative time", store(`{"main":{"sessionId":"s1","updatedAt":-5}}`), BadField, mainStore + ":1", "updatedAt is the number -5", 2, 1},
		{"no time", store(`{"main":{"sessionId":"s1"}}`), BadField, mainStore + ":1", "updatedAt is missing", 2, 1},
		{"bad spawnedBy", store(`{"main":{"sessionId":"s1","updatedAt":1,"spawnedBy":"agent:..:x"}}`), BadField, mainStore + ":1", "spawnedBy", 2, 1},
		{"long label", store(`{"main":{"sessionId":"s1","updatedAt":1,"label":"` + strings.Repeat("ü", 4000) + `"}}`), Repaired, mainStore + ":1", "truncated to 4096", 2, 1},
		{"long address", store(`{"main":{"sessionId":"s1","updatedAt":1,"lastTo":"` + strings.Repeat("x", 600) + `"}}`), BadField, mainStore + ":1", "lastTo has 600 bytes", 2, 1},
		{"invalid agent", store(`{"agent:Ma in:x":{"sessionId":"s1","updatedAt":1}}`), BadKey, mainStore + ":1", "invalid agent id", 1, 0},
		{"key with a parent directory", store(`{"../../x":{"sessionId":"s1","updatedAt":1}}`), BadKey, mainStore + ":1", "..", 1, 0},
		{"key has a newline", store(`{"a\nb":{"sessionId":"s1","updatedAt":1}}`), BadKey, mainStore + ":1", `a\nb" contains control characters`, 1, 0},
		{"key is not UTF-8", store("{\"a\xff\":{\"sessionId\":\"s1\",\"updatedAt\":1}}"), BadKey, mainStore + ":1", "not valid UTF-8", 1, 0},
		{"key of 10 kB", store(`{"` + strings.Repeat("k", 10000) + `":{"sessionId":"s1","updatedAt":1}}`), BadKey, mainStore + ":1", "longer than 512", 1, 0},
		{"empty key", store(`{"":{"sessionId":"s1","updatedAt":1}}`), BadKey, mainStore + ":1", "empty", 1, 0},
		{"unknown", store(`{"agent:main:unknown":{"sessionId":"s1","updatedAt":1}}`), ReservedKey, mainStore + ":1", "reserved", 1, 0},
		{"twice", store(`{"main":{"sessionId":"x","updatedAt":9},` + "\n" + `"main":{"sessionId":"s1","updatedAt":1}}`), DuplicateKey, mainStore + ":1", "again in line 2", 2, 1},
		{"two spellings", store(`{"main":{"sessionId":"s1","updatedAt":9},` + "\n" + `"agent:MAIN:main":{"sessionId":"x","updatedAt":1}}`), DuplicateSession, mainStore + ":2", `same session as "main"`, 2, 1},
		{"two directories", files{mainStore: `{"agent:ops:main":{"sessionId":"s1","updatedAt":9}}`, file: header("s1") + ok}, DuplicateSession, "agents/ops/sessions/sessions.json:1", mainStore, 1, 1},
		{"other agent", store(`{"agent:x:main":{"sessionId":"s1","updatedAt":1}}`), OtherAgent, mainStore + ":1", "names agent x", 2, 1},
		{"bad directory", files{"agents/no agent/sessions/sessions.json": "{}"}, BadAgent, "agents/no agent/sessions", "invalid agent id", 1, 0},
		{"no transcript", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`}, MissingTranscript, mainStore + ":1", "does not exist", 2, 0},
		{"transcript is a directory", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file + "/": ""}, Unreadable, mainStore + ":1", "not a regular file", 2, 0},
		{"transcript links outside", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file: "-> /etc/passwd"}, Outside, mainStore + ":1", "outside the state directory", 2, 0},
		{"transcript links inside", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file: "-> real.jsonl", "agents/main/sessions/real.jsonl": header("s1") + ok}, Orphan, "agents/main/sessions/real.jsonl", "", 2, 1},
		{"sessionFile outside", store(`{"main":{"sessionId":"s1","updatedAt":1,"sessionFile":"/etc/hosts.jsonl"}}`), Outside, mainStore + ":1", "outside", 2, 0},
		{"sessionFile in a parent directory", store(`{"main":{"sessionId":"s1","updatedAt":1,"sessionFile":"../../../../x.jsonl"}}`), Outside, mainStore + ":1", "outside", 2, 0},
		{"sessionFile is not a transcript", store(`{"main":{"sessionId":"s1","updatedAt":1,"sessionFile":"../../../openclaw.json"}}`), BadField, mainStore + ":1", "not a .jsonl", 2, 0},
		{"sessionFile from elsewhere", store(`{"main":{"sessionId":"s1","updatedAt":1,"sessionFile":"C:\\Users\\ana\\.openclaw\\agents\\main\\sessions\\s1.jsonl"}}`), Moved, mainStore + ":1", file, 2, 1},
		{"sessionFile is relative", store(`{"main":{"sessionId":"x","updatedAt":1,"sessionFile":"s1.jsonl"}}`), HeaderMismatch, file + ":1", `belongs to session "s1"`, 2, 1},
		{"empty transcript", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file: ""}, NoHeader, file + ":1", "empty", 2, 0},
		{"no header", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file: ok}, NoHeader, file + ":1", "not a session line", 2, 1},
		{"newer version", files{mainStore: `{"main":{"sessionId":"s1","updatedAt":1}}`, file: `{"type":"session","version":4,"id":"s1"}` + "\n" + ok}, HeaderMismatch, file + ":1", "version 4", 2, 1},
		{"broken line", oneSession("{\"type\":\n", ok), BrokenLine, file + ":2", "byte", 2, 1},
		{"line of NULs", oneSession(strings.Repeat("\x00", 50)+"\n", ok), BrokenLine, file + ":2", "byte", 2, 1},
		{"line is a list", oneSession("[1]\n", ok), BrokenLine, file + ":2", "not a JSON object", 2, 1},
		{"line is too long", oneSession(messageLine("long", "user", strings.Repeat("x", testMaxLine)), ok), LongLine, file + ":2", "more than", 2, 1},
		{"line is too deep", oneSession(strings.Repeat("[", 100)+"\n", ok), BrokenLine, file + ":2", "", 2, 1},
		{"unknown type", oneSession(`{"type":"x\u001b[2J"}`+"\n", ok), UnknownType, file + ":2", `\x1b`, 2, 1},
		{"no type", oneSession(`{"message":{}}`+"\n", ok), UnknownType, file + ":2", "no type", 2, 1},
		{"no message", oneSession(`{"type":"message"}`+"\n", ok), BadMessage, file + ":2", "no message object", 2, 1},
		{"no role", oneSession(`{"type":"message","message":{"role":5}}`+"\n", ok), BadMessage, file + ":2", "no valid role", 2, 1},
		{"id twice", oneSession(ok, messageLine("ok", "assistant", "other")), DuplicateLine, file + ":3", `id "ok"`, 2, 2},
		{"duplicate member", oneSession(`{"type":"message","id":"d","message":{"role":"user","role":"user"}}`+"\n", ok), Repaired, file + ":2", "duplicate", 2, 2},
		{"runs is not JSON", merge(store(`{"main":{"sessionId":"s1","updatedAt":1}}`), files{runsFile: "{"}), BadRun, runsFile + ":1", "neither", 2, 1},
		{"runs of another version", merge(store(`{"main":{"sessionId":"s1","updatedAt":1}}`), files{runsFile: `{"version":7,"runs":{}}`}), BadRun, runsFile + ":1", "version 1 or 2", 2, 1},
		{"run is not an object", merge(store(`{"main":{"sessionId":"s1","updatedAt":1}}`), files{runsFile: "{\"version\":2,\"runs\":{\n\"r\":1}}"}), BadRun, runsFile + ":2", "not an object", 2, 1},
		{"run has an unknown outcome", merge(store(`{"main":{"sessionId":"s1","updatedAt":1}}`), files{runsFile: `{"version":2,"runs":{"r":{"childSessionKey":"main","outcome":{"status":"lost"}}}}`}), BadRun, runsFile + ":1", `"lost"`, 2, 1},
		{"run has not ended", merge(store(`{"main":{"sessionId":"s1","updatedAt":1}}`), files{runsFile: `{"version":2,"runs":{"r":{"childSessionKey":"main"}}}`}), RunUnfinished, runsFile + ":1", "not ended", 2, 1},
		{"config is not JSON", merge(oneSession(ok), files{configFile: "{\n\nx"}), BadConfig, configFile + ":3", "neither", 2, 1},
		{"config has bad values", merge(oneSession(ok), files{configFile: `{session:{scope:"x",mainKey:"a:b"},agents:{list:[{id:"-"}]}}`}), BadConfig, configFile, "session.scope", 2, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory()
			r, err := importDir(context.Background(), build(t, merge(other, tt.files)), m, nil, testMaxLine)
			if err != nil {
				t.Fatal(err)
			}
			found := tt.kind == ""
			for _, p := range r.Problems {
				if p.Kind == tt.kind && p.Position() == tt.position && strings.Contains(p.Text, tt.text) {
					found = true
				}
				if strings.ContainsAny(p.Text+p.File, "\n\r\x1b\x00") || len(p.Text) > 1300 {
					t.Errorf("unprintable or too long: %q", p.Text)
				}
			}
			if !found {
				t.Errorf("no %s at %s with %q in %+v", tt.kind, tt.position, tt.text, r.Problems)
			}
			if r.Sessions.Inserted != tt.sessions || r.Messages.Inserted != tt.messages {
				t.Errorf("%d sessions and %d messages, want %d and %d: %+v", r.Sessions.Inserted, r.Messages.Inserted, tt.sessions, tt.messages, r.Problems)
			}
		})
	}
}

const testMaxLine = 1 << 20

func merge(all ...files) files {
	out := files{}
	for _, f := range all {
		for name, text := range f {
			out[name] = text
		}
	}
	return out
}

func TestNoStateDirectory(t *testing.T) {
	inside := build(t, files{".openclaw/" + mainStore: "{}"})
	above := build(t, files{mainStore: "{}"})
	tests := []struct{ name, dir, want string }{
		{"absent", inside + "/nowhere", "no such file"},
		{"empty", t.TempDir(), "agents/*/sessions/sessions.json"},
		{"one above", inside, "did you mean " + inside + "/.openclaw?"},
		{"too deep", above + "/agents/main", "did you mean " + above + "?"},
		{"a file", above + "/" + mainStore, "not a directory"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Import(context.Background(), tt.dir, newMemory(), nil)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestProblemLimit: for a source with many problems the totals are exact, and the list
// is bounded.
func TestProblemLimit(t *testing.T) {
	r := mustImport(t, build(t, oneSession(strings.Repeat("nope\n", 5*MaxListed))), newMemory())
	if r.Totals[BrokenLine] != 5*MaxListed || len(r.Problems) != MaxListed {
		t.Errorf("%d counted, %d listed", r.Totals[BrokenLine], len(r.Problems))
	}
	types := make([]string, 0, 500)
	for i := range cap(types) {
		types = append(types, `{"type":"t`+strings.Repeat("y", i%60)+string(rune('a'+i%26))+`"}`+"\n")
	}
	r = mustImport(t, build(t, oneSession(types...)), newMemory())
	total := 0
	for _, n := range r.Lines {
		total += n
	}
	if len(r.Lines) > maxLineTypes+1 || total != len(types) {
		t.Errorf("%d types, %d lines", len(r.Lines), total)
	}
}

func TestUnreadable(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root can read every file: the test covers only files that are not regular")
	}
	dir := build(t, merge(oneSession(), files{"agents/ops/sessions": "a file", "agents/empty/": "", "agents/stray": "x", "agents/x/sessions/sessions.json/": ""}))
	r, err := Import(context.Background(), dir, newMemory(), nil)
	if err != nil || errors.Is(err, abi.Internal) {
		t.Fatal(err)
	}
	if r.Totals[BadStore] != 1 || r.Sessions.Inserted != 1 {
		t.Errorf("a directory in place of the store: %+v", r.Problems)
	}
}
