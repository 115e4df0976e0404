//go:build !linux

package llama

func wantHugePages([]float32) {}
