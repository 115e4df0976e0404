package suites

import (
	"context"
	"net"

	"touchstone/harness/refserver"
)

// Embedded starts the reference server in this process, on a free port of the
// loopback interface. stop ends it and waits for it.
func Embedded(ctx context.Context, cfg refserver.Config) (url string, stop func(), err error) {
	s, err := refserver.New(cfg)
	if err != nil {
		return "", nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		s.Close()
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(ctx, l) // it ends by cancel alone; what else breaks shows in the requests
	}()
	return "http://" + l.Addr().String(), func() {
		cancel()
		<-done
		s.Close()
	}, nil
}
