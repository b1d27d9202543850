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

// PluginAwaiter is implemented by gateway.Tools whose tools may change while a Server
// serves them.
type PluginAwaiter interface {
	// AwaitPlugin waits until the active version of the plugin has another digest, and
	// returns that version.
	AwaitPlugin(ctx context.Context, digest string) (*host.Plugin, error)
}

var _ PluginAwaiter = (*host.Host)(nil)

// offer registers the tools with the SDK and removes all others. The SDK notifies clients
// of a change. offer skips tools that the SDK rejects, so that the others stay usable. It
// is not safe for concurrent use: only New and follow call it.
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
				s.logger.Error("mcp: tool skipped", "tool", t.Name, "error", err)
				s.sdk.RemoveTools(t.Name) // a tool of this name may be registered for the previous version
				continue
			}
		}
		offered = append(offered, t)
	}
	s.offered = offered
}

// same reports whether clients see two tools as equal.
func same(a, b *abi.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && a.ReadOnly == b.ReadOnly &&
		bytes.Equal(a.InputSchema, b.InputSchema) && bytes.Equal(a.OutputSchema, b.OutputSchema)
}

// add registers one tool. It returns an error if the SDK's schema check panics.
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

// annotations returns hints that clients may show before they allow a tool call. A tool
// that writes adds messages and removes nothing, is not idempotent, and may send messages
// to chat channels.
func annotations(t abi.Tool) *sdk.ToolAnnotations {
	writes := !t.ReadOnly
	a := &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, OpenWorldHint: &writes}
	if writes {
		a.DestructiveHint = new(bool)
	}
	return a
}

// followRetry is the pause after a failure of AwaitPlugin: the owner of the database may
// have ended.
const followRetry = time.Second

// follow offers the tools of each new active version of the plugin, until ctx ends.
func (s *Server) follow(ctx context.Context) {
	defer close(s.followed)
	plugin, ok := s.tools.(PluginAwaiter)
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
			s.logger.Warn("mcp: the list of tools may be outdated", "error", err)
		}
		select {
		case <-time.After(followRetry):
		case <-ctx.Done():
		}
	}
}
