package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host"
)

// Swapping is implemented by gateway.Tools that may change while they are served.
type Swapping interface {
	// AwaitPlugin returns the active version of the plugin when it is not the one with
	// this digest.
	AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error)
}

var _ Swapping = (*host.Host)(nil)

// offer gives the SDK the tools, and takes away those that are no more. It tells
// clients of a change. One that the SDK does not take is left out: the others are
// worth as much without it. Only New and follow call it.
func (s *Server) offer(tools []abi.Tool) {
	var gone []string
	for _, old := range s.offered {
		if !slices.ContainsFunc(tools, func(t abi.Tool) bool { return t.Name == old.Name }) {
			gone = append(gone, old.Name)
		}
	}
	s.sdk.RemoveTools(gone...)
	var offered []abi.Tool
	for _, t := range tools {
		if !slices.ContainsFunc(s.offered, func(old abi.Tool) bool { return same(&old, &t) }) {
			if err := s.add(t); err != nil {
				s.logger.Error("mcp: a tool is left out", "tool", t.Name, "error", err)
				s.sdk.RemoveTools(t.Name) // as another version had it
				continue
			}
		}
		offered = append(offered, t)
	}
	s.offered = offered
}

// same reports whether clients are told the same of two tools.
func same(a, b *abi.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && a.ReadOnly == b.ReadOnly &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema)
}

// add gives the SDK one tool. Its own check of schemas panics.
func (s *Server) add(t abi.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = abi.NewError(abi.InvalidArgs, fmt.Sprintf("mcp: %v", p))
		}
	}()
	tool := &sdk.Tool{
		Name:        t.Name,
		Description: t.Description,
		InputSchema: rawJSON(t.InputSchema),
		Annotations: annotations(t),
	}
	if gjson.ValidBytes(t.OutputSchema) {
		tool.OutputSchema = rawJSON(t.OutputSchema)
	}
	s.sdk.AddTool(tool, s.call)
	return nil
}

// annotations are what clients may show before they let a tool be called. One that
// writes adds messages and takes nothing away; called again, it adds again; and
// what it causes may reach chat channels.
func annotations(t abi.Tool) *sdk.ToolAnnotations {
	writes := !t.ReadOnly
	a := &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, OpenWorldHint: &writes}
	if writes {
		a.DestructiveHint = new(bool)
	}
	return a
}

// followAgain is the pause after a failure to learn of swaps: the owner of the
// database may have ended.
const followAgain = time.Second

// follow offers the tools of each version of the plugin that takes over, until ctx
// ends.
func (s *Server) follow(ctx context.Context) {
	defer close(s.followed)
	plugin, ok := s.tools.(Swapping)
	if !ok {
		return
	}
	digest := ""
	for ctx.Err() == nil {
		active, err := plugin.AwaitPlugin(ctx, digest)
		if err == nil {
			digest = active.Digest
			s.offer(s.tools.Tools())
			continue
		}
		if ctx.Err() == nil {
			s.logger.Warn("mcp: the list of tools may be old", "error", err)
		}
		select {
		case <-time.After(followAgain):
		case <-ctx.Done():
		}
	}
}
