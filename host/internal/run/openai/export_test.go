package openai

import (
	"context"
	"time"
)

// SetWait replaces the function that waits between tries.
func (rn *Runner) SetWait(wait func(ctx context.Context, d time.Duration) error) { rn.wait = wait }
