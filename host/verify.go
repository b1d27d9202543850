package host

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/abi"
	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/internal/module"
	"github.com/parley-wasm/parley/host/internal/module/verify"
)

// enoughFailures decide that a version does not serve. The others are of interest
// to who mends it, and parley plugin verify shows them.
const maxFailures = 5

// verify tries a version on the vectors that the settings ask for. One that none of
// them is about serves only if whoever swaps insists.
func (h *Host) verify(ctx context.Context, v *module.Version, c *module.Candidate) (*module.Verified, error) {
	level := cmp.Or(h.Config().Plugins.Verify, config.VerifyQuick)
	if level == config.VerifyNone {
		return nil, nil
	}
	start := time.Now()
	r, err := verify.Module(ctx, v.Run, &verify.Options{
		Level: verify.Level(level), Tools: verify.Names(v.About.Tools), MaxFailures: maxFailures,
	})
	if err == nil {
		err = r.Err()
	}
	if err == nil && r.Passed == 0 && !c.Force {
		err = abi.NewError(abi.InvalidArgs, `verify: it offers none of the session tools, so that nothing of it can be verified: `+
			`if that is what it is meant for, swap to it with parley plugin swap --force, or set plugins.verify to "none"`)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v, err)
	}
	h.options.Logger.Info("module: verified", "version", v.String(), "level", level, "vectors", r.Passed, "skipped", r.Skipped, "took", time.Since(start))
	return &module.Verified{Level: level, Passed: r.Passed, Skipped: r.Skipped}, nil
}
