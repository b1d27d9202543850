//go:build !unix

package sqlite

import (
	"errors"
	"os"
)

func lock(*os.File) error { return errors.ErrUnsupported }
