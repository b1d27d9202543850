package openai

import (
	"context"
	"time"
)

// SetWait replaces how the agent waits between tries.
func (a *Agent) SetWait(wait func(ctx context.Context, d time.Duration) error) { a.wait = wait }
