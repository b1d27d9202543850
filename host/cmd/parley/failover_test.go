package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/parley-wasm/parley/host/gateway/local"
	"github.com/parley-wasm/parley/host/store/sqlite"
)

// mcpClient is a parley mcp process and the client on its standard input and output.
type mcpClient struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	id  int
}

func startMCP(t *testing.T, dir string) *mcpClient {
	t.Helper()
	c := &mcpClient{Cmd: parley(t, dir, "mcp"), t: t}
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.out = bufio.NewScanner(out)
	c.out.Buffer(nil, 1<<20)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait()
	})
	c.request("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	fmt.Fprintln(c.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c *mcpClient) request(method, params string) gjson.Result {
	c.t.Helper()
	c.id++
	fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
	if !c.out.Scan() {
		c.t.Fatalf("no answer to %s: %v", method, c.out.Err())
	}
	return gjson.Parse(strings.Clone(c.out.Text()))
}

func (c *mcpClient) listAgents() {
	c.t.Helper()
	if r := c.request("tools/call", `{"name":"agents_list","arguments":{}}`); !r.Get("result.structuredContent.agents").IsArray() {
		c.t.Errorf("answer is %s", r.Raw)
	}
}

// TestMCPTakesOver kills an MCP process that owns the database. The MCP process that is its
// client must become the owner at the next call.
func TestMCPTakesOver(t *testing.T) {
	dir := t.TempDir()
	first := startMCP(t, dir)
	second := startMCP(t, dir)
	first.listAgents()
	second.listAgents()
	if got := ownerPID(t, dir); got != first.Process.Pid {
		t.Errorf("owner is %d, want the first process, %d", got, first.Process.Pid)
	}

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	second.listAgents()
	if got := ownerPID(t, dir); got != second.Process.Pid {
		t.Errorf("owner is %d, want the second process, %d", got, second.Process.Pid)
	}
	if out, err := parley(t, dir, "call", "agents_list").Output(); err != nil || !gjson.ValidBytes(out) {
		t.Errorf("call: %v: %s", err, out)
	}

	second.in.Close()
	if err := second.Wait(); err != nil {
		t.Errorf("end of input: %v", err)
	}
	if _, err := os.Lstat(filepath.Join(dir, "test.db.sock")); !os.IsNotExist(err) {
		t.Errorf("the socket still exists: %v", err)
	}
}

// TestServeWaitsForShortOwner checks that serve does not fail if a short command owns the
// database, but waits until the command exits.
func TestServeWaitsForShortOwner(t *testing.T) {
	dir := t.TempDir()
	b, err := sqlite.NewBackend(filepath.Join(dir, "test.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := local.Acquire(t.Context(), b.Location(), b.Ownership(), &local.Options{Command: "call"})
	if err != nil {
		t.Fatal(err)
	}
	serve := parley(t, dir, "serve", "--listen", "127.0.0.1:0", "--json", "--owner-timeout", "1m")
	out, err := serve.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	if err := owner.Close(); err != nil {
		t.Error(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || gjson.Get(line, "pid").Int() != int64(serve.Process.Pid) {
		t.Errorf("serve prints %q, %v", line, err)
	}
	if err := serve.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := serve.Wait(); err != nil {
		t.Error(err)
	}
}

// TestConcurrentShortCommands runs short commands concurrently. They own the database in
// turn while others connect, and every command must get its answer.
func TestConcurrentShortCommands(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 8 {
				if out, err := parley(t, dir, "call", "agents_list").Output(); err != nil || !gjson.ValidBytes(out) {
					t.Errorf("call: %v: %s", err, out)
				}
			}
		})
	}
	wg.Wait()
}
