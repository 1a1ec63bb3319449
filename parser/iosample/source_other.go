//go:build !linux

package iosample

import (
	"context"
	"fmt"
	"runtime"
)

// openKernel opens the source that counts in the kernel: there is none.
func openKernel(_ context.Context, name string, _ int, _ *liveFiles) (Source, error) {
	return nil, fmt.Errorf("%s needs Linux, this is %s", name, runtime.GOOS)
}
