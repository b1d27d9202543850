package vector

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/abi/internal/jsonvalue"
	"github.com/parley-wasm/parley/abi/sessionkey"
)

// Limits on the size of an answer, in bytes.
const (
	maxResult   = 512 << 10 // sessions_list (S2.2)
	maxMessages = 80 << 10  // all messages of one sessions_history (S3.4)
	maxFailure  = 4 << 10   // a failure must not repeat long arguments
)

// examine parses an answer and checks the rules that hold for every answer of the
// tool, independent of the vector's expectation.
func examine(tool string, a Answer) (result any, problems []string) {
	if a.Abandoned {
		return nil, nil
	}
	if a.Err != nil {
		if len(a.Err.Error()) > maxFailure {
			problems = append(problems, fmt.Sprintf("the error has %d bytes", len(a.Err.Error())))
		}
		return nil, problems
	}
	result, err := jsonvalue.Parse(a.Result)
	if err != nil {
		return nil, []string{"the result is not JSON: " + err.Error()}
	}
	o, ok := result.(map[string]any)
	if !ok {
		return result, []string{"the result is not an object (S0.1): " + jsonvalue.Truncate(result)}
	}
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	status := o["status"]
	if tool == abi.ToolSend && jsonvalue.Has(o, "runId") {
		return result, append(problems, examineSend(o)...)
	}
	if tool == abi.ToolSpawn && status == "accepted" {
		return result, append(problems, examineSpawn(o)...)
	}
	failed := status == "error" || status == "forbidden"
	require(failed == (a.Code != ""), "status %v with code %q: want a code exactly when the call failed", status, a.Code)
	if failed {
		message, _ := o["error"].(string)
		require(message != "" && len(o) == 2, "a failure is {status, error} (S0.1), got %s", jsonvalue.Truncate(o))
		require((status == "forbidden") == (a.Code == abi.Forbidden), "status %v with code %s", status, a.Code)
		require(a.Code.Known(), "unknown code %q", a.Code)
		require(len(a.Result) <= maxFailure, "the failure has %d bytes", len(a.Result))
		return result, problems
	}
	switch tool {
	case abi.ToolList:
		rows := jsonvalue.List(o["sessions"])
		require(o["count"] == json.Number(fmt.Sprint(len(rows))), "count %v, but %d rows (S2.2)", o["count"], len(rows))
		require(len(a.Result) < maxResult, "the result has %d bytes (S2.2)", len(a.Result))
		require(!jsonvalue.Has(o, "nextCursor") || len(rows) > 0, "a page without rows has a nextCursor")
		require(jsonvalue.Only(o, "count", "sessions", "nextCursor") == nil, "members %v (S2.2)", jsonvalue.Names(o))
	case abi.ToolHistory:
		problems = append(problems, examineHistory(o)...)
	case abi.ToolSend:
		require(false, "a success without a runId (S4.3): %s", jsonvalue.Truncate(o))
	case abi.ToolSpawn:
		require(false, "a success that is not accepted (S5.3): %s", jsonvalue.Truncate(o))
	}
	return result, problems
}

func examineHistory(o map[string]any) (problems []string) {
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...)+" (S3.3)")
		}
	}
	err := jsonvalue.Only(o, "sessionKey", "messages", "truncated", "droppedMessages", "contentTruncated", "contentRedacted", "bytes", "offset", "nextOffset", "hasMore")
	require(err == nil, "%v", err)
	flags := map[string]bool{}
	for _, name := range []string{"truncated", "droppedMessages", "contentTruncated", "contentRedacted", "hasMore"} {
		flag, ok := o[name].(bool)
		require(ok, "%s is %s, want true or false", name, jsonvalue.Truncate(o[name]))
		flags[name] = flag
	}
	messages, ok := o["messages"].([]any)
	require(ok, "messages is %s", jsonvalue.Truncate(o["messages"]))
	size := len(jsonvalue.Compact(o["messages"]))
	require(size <= maxMessages, "the messages have %d bytes", size)
	bytes, err := jsonvalue.Integer(o, "bytes", -1)
	require(err == nil && bytes >= 0 && bytes <= maxMessages, "bytes is %s", jsonvalue.Truncate(o["bytes"]))
	require(flags["truncated"] == (flags["droppedMessages"] || flags["contentTruncated"]),
		"truncated must equal droppedMessages || contentTruncated")
	require(flags["hasMore"] == jsonvalue.Has(o, "nextOffset"), "hasMore is %v, nextOffset %s", flags["hasMore"], jsonvalue.Truncate(o["nextOffset"]))
	if jsonvalue.Has(o, "nextOffset") {
		offset, err1 := jsonvalue.Integer(o, "offset", 0)
		next, err2 := jsonvalue.Integer(o, "nextOffset", 0)
		require(err1 == nil && err2 == nil && next == offset+len(messages),
			"nextOffset %d does not continue after %d messages from offset %d", next, len(messages), offset)
	}
	return problems
}

// sendMembers maps each status of S4.3 to its extra member (besides runId, status,
// sessionKey and delivery) and to the allowed values of delivery.message.
var sendMembers = map[any]struct {
	member  string
	message []string
}{
	"accepted": {"", []string{"stored", "started", "answered"}},
	"ok":       {"reply", []string{"answered"}},
	"timeout":  {"error", []string{"stored", "started"}},
	"error":    {"error", []string{"answered"}},
}

// examineSend checks the result of a send whose message was accepted.
func examineSend(o map[string]any) (problems []string) {
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...)+" (S4.3)")
		}
	}
	form, known := sendMembers[o["status"]]
	require(known, "status %s", jsonvalue.Truncate(o["status"]))
	members := []string{"runId", "status", "sessionKey", "delivery"}
	if form.member != "" {
		members = append(members, form.member)
		_, ok := o[form.member].(string)
		require(ok, "%s has %s %s, want a string", jsonvalue.Truncate(o["status"]), form.member, jsonvalue.Truncate(o[form.member]))
	}
	err := jsonvalue.Only(o, members...)
	require(err == nil, "%v", err)
	for _, name := range []string{"runId", "sessionKey"} {
		id, _ := o[name].(string)
		require(id != "", "%s is %s", name, jsonvalue.Truncate(o[name]))
	}
	d, _ := o["delivery"].(map[string]any)
	err = jsonvalue.Only(d, "message", "announce")
	require(err == nil, "%v", err)
	require(slices.Contains(form.message, jsonvalue.Text(d["message"])), "delivery.message is %s with status %s", jsonvalue.Truncate(d["message"]), jsonvalue.Truncate(o["status"]))
	require(slices.Contains([]string{"pending", "skipped"}, jsonvalue.Text(d["announce"])), "delivery.announce is %s", jsonvalue.Truncate(d["announce"]))
	return problems
}

// examineSpawn checks the result of a spawn that started a child.
func examineSpawn(o map[string]any) (problems []string) {
	if err := jsonvalue.Only(o, "status", "runId", "childSessionKey", "model"); err != nil || len(o) != 4 {
		problems = append(problems, fmt.Sprintf("members %v (S5.3)", jsonvalue.Names(o)))
	}
	if key, _ := o["childSessionKey"].(string); !sessionkey.IsChild(key) {
		problems = append(problems, fmt.Sprintf("childSessionKey is %s (S5.3)", jsonvalue.Truncate(o["childSessionKey"])))
	}
	if id, _ := o["runId"].(string); id == "" {
		problems = append(problems, "no runId (S5.3)")
	}
	return problems
}
