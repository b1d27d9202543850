package local_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/parley-wasm/parley/host/gateway/local"
)

// Every error of a request to an ending owner, at whatever stage, must count as a
// disconnect, so that the client joins the database again.
func TestDisconnected(t *testing.T) {
	for err, want := range map[error]bool{
		unix.ENOENT: true, unix.ECONNREFUSED: true, unix.ECONNRESET: true, unix.EPIPE: true, io.EOF: true, io.ErrUnexpectedEOF: true,
		unix.EAGAIN: false, unix.EACCES: false, context.DeadlineExceeded: false, errors.New("HTTP 500"): false,
	} {
		if got := local.Disconnected(fmt.Errorf("request: %w", err)); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}
