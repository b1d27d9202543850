package host

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/parley-wasm/parley/host/config"
	"github.com/parley-wasm/parley/host/module"
	"github.com/parley-wasm/parley/host/module/verify"
)

// enoughFailures decide that a version does not serve. The others are of interest
// to who mends it, and parley plugin verify shows them.
const enoughFailures = 5

// verify tries a version on the vectors that the settings ask for.
func (h *Host) verify(ctx context.Context, v *module.Version) error {
	level := cmp.Or(h.Config().Plugins.Verify, config.VerifyQuick)
	if level == config.VerifyNone {
		return nil
	}
	start := time.Now()
	r, err := verify.Module(ctx, v.Run, &verify.Options{
		Level: verify.Level(level), Tools: verify.Names(v.About.Tools), MaxFailures: enoughFailures,
	})
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v, err)
	}
	log := h.options.Logger.With("version", v.String())
	if r.Passed == 0 {
		log.Warn("module: not verified, for it offers none of the session tools")
	} else {
		log.Info("module: verified", "level", level, "vectors", r.Passed, "skipped", r.Skipped, "took", time.Since(start))
	}
	return nil
}
