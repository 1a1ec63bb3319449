package iosample

import "context"

// openKernel opens the source that counts in the kernel.
func openKernel(ctx context.Context, name string, pid int, files *liveFiles) (Source, error) {
	if name == "bpf" {
		return openBPF(files)
	}
	return openPerf(ctx, perfTarget{PID: pid, Files: files})
}
