package mcp

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// When progress is sent: soon enough to show that something happens, and then
// often enough to keep connections and clients' time-outs alive.
const (
	firstProgress = time.Second
	nextProgress  = 5 * time.Second
)

// progress tells the client of a call under way, if it has asked for it, how many
// seconds have passed. stop returns when no more is sent.
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
				return // the client has gone, or takes none
			}
			timer.Reset(s.next)
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}
