package storetest_test

import (
	"testing"

	"github.com/parley-wasm/parley/host/store"
	"github.com/parley-wasm/parley/host/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Exercise(t, func(*testing.T) store.Loader { return storetest.NewMemory() })
}
