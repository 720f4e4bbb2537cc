package mcp

import (
	"context"
	"io"
	"log/slog"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/internal/program"
)

// MaxMessageBytes bounds one message from a server.
const MaxMessageBytes = 16 << 20

// process is the transport of a stdio server: a program. It serves one connection.
type process struct {
	server Server
	self   string // Options.Self
	log    *slog.Logger

	mu      sync.Mutex // guards all below
	running *program.Process
	flood   *flood
}

// Connect implements the SDK's Transport: it starts the process.
func (p *process) Connect(ctx context.Context) (sdk.Connection, error) {
	running, err := program.Start(program.Command{
		Keeper: p.self, Path: p.server.Command, Args: p.server.Args, Environment: p.server.Environment,
		Redact: p.server.redact, Log: p.log, Says: "an MCP server says",
	})
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.running = running
	p.mu.Unlock()
	transport := &sdk.IOTransport{Reader: closing{running}, Writer: writing{running}, MaxLineLength: MaxMessageBytes}
	connection, err := transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	counts := newCounting(connection)
	p.mu.Lock()
	p.flood = counts.flood
	p.mu.Unlock()
	return counts, nil
}

// close ends the process, even during calls. It may be called more than once, and before Connect.
func (p *process) close() {
	p.mu.Lock()
	running := p.running
	p.mu.Unlock()
	if running != nil {
		_ = running.Close() // the pipes may already be closed
	}
}

// ended implements transport: a flood ends the reading, and with it the session.
func (p *process) ended() <-chan struct{} { return nil }

// why adds the process's last output to an error.
func (p *process) why(err error) error {
	p.mu.Lock()
	running, flood := p.running, p.flood
	p.mu.Unlock()
	switch {
	case running == nil:
		return err
	case err != nil && flood != nil && flood.over.Load():
		return errFlood // rather than how the process was then ended
	}
	return running.Why(err)
}

// writing is the writing end; the pipe is closed with the process, by closing.
type writing struct{ io.Writer }

// Close implements io.Closer.
func (writing) Close() error { return nil }

// closing is the reading end, whose Close ends the process.
type closing struct{ running *program.Process }

// Read implements io.Reader.
func (c closing) Read(b []byte) (int, error) { return c.running.Output.Read(b) }

// Close implements io.Closer.
func (c closing) Close() error { return c.running.Close() }
