package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Times of progress notifications. The first is early enough to show activity; the next
// ones are frequent enough to prevent timeouts of connections and clients.
const (
	firstProgress = time.Second
	nextProgress  = 5 * time.Second
)

// progress periodically sends the client the number of seconds that the call has taken, if
// the request has a progress token. It sends nothing after stop has returned.
func (s *Server) progress(ctx context.Context, r *sdk.CallToolRequest) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil || r.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	start := time.Now()
	go func() {
		defer close(ended)
		timer := time.NewTimer(s.first)
		defer timer.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-timer.C:
			}
			p := &sdk.ProgressNotificationParams{ProgressToken: token, Progress: time.Since(start).Round(time.Second).Seconds(), Message: "waiting for the answer"}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return // the client has disconnected, or does not accept notifications
			}
			timer.Reset(s.next)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
