package engine

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// WithWASI lets modules import WASI, which Go's own compiler requires.
func (o Options) WithWASI() *Options {
	o.wasi = func(ctx context.Context, r wazero.Runtime) error {
		_, err := wasi_snapshot_preview1.Instantiate(ctx, r)
		return err
	}
	return &o
}
