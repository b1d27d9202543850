package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of a connection.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	grace         = 10 * time.Second // for the requests under way, when the server stops
)

// Serve answers requests on l until ctx is done. Then it accepts no more, ends
// the streams, and lets the requests under way finish for up to ten seconds. It
// closes l, but not the API.
func (a *API) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(a.options.Logger.Handler(), slog.LevelDebug),
	}
	s.RegisterOnShutdown(a.mcp.Close)
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	select {
	case err := <-served:
		return fmt.Errorf("httpapi: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := s.Shutdown(stop)
	if errors.Is(err, context.DeadlineExceeded) {
		a.options.Logger.Warn("httpapi: requests were cut off at the end", "grace", grace)
		err = s.Close()
	}
	<-served
	if err != nil {
		return fmt.Errorf("httpapi: %w", err)
	}
	return nil
}
