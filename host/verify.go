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

// maxFailures is the number of failures after which verification stops. The command
// "parley plugin verify" shows all failures.
const maxFailures = 5

// verify runs the vectors that the settings select against a version. A version to
// which no vector applies is accepted only with PluginFile.Force.
func (h *Host) verify(ctx context.Context, v *module.Version, c *module.File) (*module.Verified, error) {
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
		err = abi.NewError(abi.InvalidArgs, `verify: the plugin offers none of the session tools, so nothing can be verified: `+
			`if that is intended, swap to it with parley plugin swap --force, or set plugins.verify to "none"`)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", v, err)
	}
	h.options.Logger.Info("module: verified", "version", v.String(), "level", level, "vectors", r.Passed, "skipped", r.Skipped, "took", time.Since(start))
	return &module.Verified{Level: level, Passed: r.Passed, Skipped: r.Skipped}, nil
}
