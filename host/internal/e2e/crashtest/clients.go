package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// clients make calls one after the other, each until it has an answer that it was
// accepted. They come again with its id.
type clients struct {
	gateway *gateway
	next    func(tag string, choose *rand.Rand) call
	seed    uint64
	stop    chan struct{} // closed when they are to make no more

	mu       sync.Mutex
	accepted map[string]call // by id
	refused  int             // answers that there is no room now
}

// again is how long a client waits before it asks again.
const again = 5 * time.Millisecond

// call lets one client call.
func (c *clients) call(ctx context.Context, client int) error {
	choose := rand.New(rand.NewPCG(c.seed, uint64(client)))
	for n := 0; ; n++ {
		id := fmt.Sprintf("c%d-%d", client, n)
		its := c.next("#"+id+"#", choose)
		body, err := json.Marshal(map[string]any{"tool": its.tool(), "sessionKey": its.caller(), "args": its.args()})
		if err != nil {
			return err
		}
		for known := false; !known; {
			if known, err = c.ask(ctx, id, its, body); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			if !known {
				select {
				case <-time.After(again):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		select {
		case <-c.stop:
			return nil
		default:
		}
	}
}

// ask makes a call once, and reports whether its client is done with it: it was
// accepted, or refused when no more calls are wanted.
func (c *clients) ask(ctx context.Context, id string, its call, body []byte) (done bool, err error) {
	status, answer, err := c.gateway.post(ctx, id, body)
	switch {
	case err != nil || status >= 500 || status == http.StatusConflict:
		return false, ctx.Err() // the gateway is not there, or just going
	case status != http.StatusOK:
		return false, fmt.Errorf("answered %d: %s", status, answer)
	}
	accepted, err := its.accepted(gjson.GetBytes(answer, "result.details"))
	if err != nil {
		return false, errors.Join(err, fmt.Errorf("the call was %s", body))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if accepted {
		c.accepted[id] = its
		return true, nil
	}
	c.refused++
	select {
	case <-c.stop:
		return true, nil
	default:
		return false, nil
	}
}

// count returns how many calls were accepted so far.
func (c *clients) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.accepted)
}
