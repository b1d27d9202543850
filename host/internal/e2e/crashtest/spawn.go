package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
)

// Where the result of a spawn is announced (S5.6).
const (
	toChannel = "channel"
	toParent  = "parent"
	toNobody  = "none"
)

// spawn is a sessions_spawn: a child's run, and its announce.
type spawn struct {
	tag      string
	from     string
	receiver string // the channel of the requester; empty: none
	agent    string
	task     string // a word of tasks
	announce string
	deletes  bool
}

var _ call = (*spawn)(nil)

func (c *spawn) caller() string  { return c.from }
func (c *spawn) tool() string    { return abi.ToolSpawn }
func (c *spawn) message() string { return c.task + " " + c.tag }

func (c *spawn) args() map[string]any {
	cleanup := "keep"
	if c.deletes {
		cleanup = "delete"
	}
	return map[string]any{
		"task": c.message(), "agentId": c.agent, "label": "child " + c.tag,
		"announce": c.announce, "cleanup": cleanup, "runTimeoutSeconds": tasks[c.task].seconds,
	}
}

// accepted tells the refusal of a requester that has enough children, which ends
// when one of them does, from all others.
func (c *spawn) accepted(answer gjson.Result) (bool, error) {
	switch status := answer.Get("status").Str; {
	case status == "accepted":
		return true, nil
	case status == "forbidden" && strings.Contains(answer.Get("error").Str, "maxChildrenPerAgent"):
		return false, nil
	}
	return false, errors.New("answered " + answer.Raw)
}

// says is what an agent that is to say it says in this spawn.
func (c *spawn) says(text string) string { return strings.ReplaceAll(text, "#", c.tag) }

// String says what kind of spawn it is.
func (c *spawn) String() string {
	text := fmt.Sprintf("%s, %s, announced to %s", c.tag, c.task, c.announce)
	if c.deletes {
		text += ", deleted"
	}
	return text
}
