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

// Limits of a connection.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	grace         = 10 * time.Second // for active requests when the server stops
)

// keepalive detects dead clients within a minute and a half. Nothing else would detect
// them while a request waits for an agent.
var keepalive = net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 6}

// Serve answers requests on l until ctx is done. Then it accepts no more connections,
// closes the API, which cancels waiting requests, and gives active requests up to ten
// seconds to finish. It closes l.
//
// Answers have no deadline: a request may take an hour.
func (a *API) Serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{
		Handler:           a,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(a.logger.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if tcp, ok := c.(*net.TCPConn); ok {
				_ = tcp.SetKeepAliveConfig(keepalive) // on failure the system's settings apply
			}
			return ctx
		},
	}
	s.RegisterOnShutdown(a.Close)
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
		a.logger.Warn("httpapi: requests cancelled at shutdown", "grace", grace)
		err = s.Close()
	}
	<-served
	if err != nil {
		return fmt.Errorf("httpapi: %w", err)
	}
	return nil
}
