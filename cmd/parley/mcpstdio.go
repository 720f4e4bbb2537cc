package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	mcpserver "example.org/parley/protocol/mcp"
)

// The bounds of the protocol on standard input and output.
const (
	mcpCallsAtOnce = 32       // requests that the server works on
	mcpLongest     = 64 << 20 // bytes of a message from the server
)

func mcpCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer agents, sessions and documents to an MCP client on standard input and output",
		Long: "Speak the Model Context Protocol on standard input and output, for clients that start their\n" +
			"servers as programs. It passes on to a running server (--url and --key, or that of this data\n" +
			"directory), which serves the same at /mcp over HTTP.",
		Example: "  parley mcp --url http://127.0.0.1:7878 --key pk_…",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := shared.connect(getenv)
			if err != nil {
				return err
			}
			defer server.Close()
			bridge := &mcpBridge{
				server: server, out: term.exact, places: make(chan struct{}, mcpCallsAtOnce),
				running: map[string]context.CancelFunc{},
			}
			return bridge.run(cmd.Context(), term.in)
		},
	}
}

// mcpBridge passes messages between standard input and output and a server. Nothing but messages is written.
type mcpBridge struct {
	server *client.Client
	places chan struct{} // one for each request that the server works on
	calls  sync.WaitGroup

	mu      sync.Mutex // guards the rest
	out     io.Writer
	failed  error                         // of writing
	running map[string]context.CancelFunc // by the id of the request
	session string                        // from initialize
	version string
}

// mcpMessage is what the bridge reads of a message.
type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name    string          `json:"name"`
		URI     string          `json:"uri"`
		Request json.RawMessage `json:"requestId"`
		Meta    struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// agreed returns the protocol's version that the result of initialize names.
func (m *mcpMessage) agreed() string {
	var result struct {
		Version string `json:"protocolVersion"`
	}
	if json.Unmarshal(m.Result, &result) != nil {
		return "" // an error, or no such result
	}
	return result.Version
}

// run passes messages until the input ends and the last request is answered, or ctx ends.
func (b *mcpBridge) run(ctx context.Context, in io.Reader) error {
	ctx, stop := context.WithCancel(ctx)
	defer b.calls.Wait()
	defer stop()
	lines, ended := make(chan []byte), make(chan error, 1)
	go func() { // ends with the input, with ctx, or with the process
		scanner := bufio.NewScanner(in)
		scanner.Buffer(nil, mcpserver.MaxBody)
		for scanner.Scan() {
			select {
			case lines <- bytes.Clone(scanner.Bytes()):
			case <-ctx.Done():
				return
			}
		}
		ended <- scanner.Err()
	}()
	for {
		select {
		case line := <-lines:
			if len(bytes.TrimSpace(line)) > 0 {
				b.take(ctx, line)
			}
		case err := <-ended:
			b.calls.Wait()
			if errors.Is(err, bufio.ErrTooLong) {
				return parley.Errorf(parley.CodeTooLarge, "a message is longer than %d bytes", mcpserver.MaxBody)
			}
			return errors.Join(err, b.writeError())
		case <-ctx.Done():
			return nil
		}
		if err := b.writeError(); err != nil {
			return err
		}
	}
}

func (b *mcpBridge) writeError() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failed
}

// take passes a message on. It waits for the answer to initialize, which what follows needs, and not for that to a
// request.
func (b *mcpBridge) take(ctx context.Context, line []byte) {
	var m mcpMessage
	_ = json.Unmarshal(line, &m) // the server says what is wrong with it
	switch {
	case m.Method == "notifications/cancelled":
		b.mu.Lock()
		if cancel := b.running[string(m.Params.Request)]; cancel != nil {
			cancel()
		}
		b.mu.Unlock()
		return
	case m.Method == "initialize" || m.Method == "" || m.ID == nil: // answers find their calls waiting
		b.pass(ctx, line, &m)
		return
	}
	select {
	case b.places <- struct{}{}:
	default:
		b.fail(ctx, &m, parley.Errorf(parley.CodeRateLimited,
			"%d requests are running. Wait until one has ended.", mcpCallsAtOnce))
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	b.mu.Lock()
	b.running[string(m.ID)] = cancel
	b.mu.Unlock()
	b.calls.Go(func() { // ends with its request
		defer func() {
			b.mu.Lock()
			delete(b.running, string(m.ID))
			b.mu.Unlock()
			cancel()
			<-b.places
		}()
		b.pass(ctx, line, &m)
	})
}

// header says in headers what the server needs to know of a message.
func (b *mcpBridge) header(m *mcpMessage) http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	header := http.Header{"Accept": {"application/json, text/event-stream"}}
	set := func(name, value string) {
		if value != "" {
			header.Set(name, value)
		}
	}
	version := m.Params.Meta.Version
	if version == "" {
		set(mcpserver.SessionHeader, b.session)
		set(mcpserver.VersionHeader, b.version)
		return header
	}
	set(mcpserver.VersionHeader, version)
	set(mcpserver.MethodHeader, m.Method)
	name := m.Params.Name + m.Params.URI // a method has one of them
	if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c > '~' }) {
		name = "=?base64?" + base64.StdEncoding.EncodeToString([]byte(name)) + "?="
	}
	set(mcpserver.NameHeader, name)
	return header
}

// pass sends a message and writes what the server answers.
func (b *mcpBridge) pass(ctx context.Context, line []byte, m *mcpMessage) {
	answer, err := b.server.Forward(ctx, mcpserver.Prefix, b.header(m), line)
	if err != nil {
		b.fail(ctx, m, err)
		return
	}
	defer answer.Body.Close() //nolint:errcheck // it was read
	if m.Method == "initialize" {
		b.mu.Lock()
		b.session = answer.Header.Get(mcpserver.SessionHeader)
		b.mu.Unlock()
	}
	scanner := bufio.NewScanner(answer.Body)
	scanner.Buffer(nil, mcpLongest)
	streams := strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream")
	answered := m.Method != "" && m.ID == nil || m.Method == "" && m.ID != nil
	for scanner.Scan() {
		said, data := bytes.CutPrefix(scanner.Bytes(), []byte("data: "))
		if len(said) == 0 || streams && !data {
			continue
		}
		var of mcpMessage
		if json.Unmarshal(said, &of) != nil {
			break
		}
		if m.Method == "initialize" {
			b.mu.Lock()
			b.version = of.agreed()
			b.mu.Unlock()
		}
		switch {
		case of.Method != "":
			b.write(said)
		case !answered && m.ID != nil && string(of.ID) == "null": // the server has not read the request
			b.write(mcpError(m.ID, of.Error))
			answered = true
		case !answered:
			b.write(said)
			answered = true
		}
	}
	if !answered {
		b.fail(ctx, m, parley.Errorf(parley.CodeUnavailable, "The connection to the server ended before the answer. "+
			"What was asked goes on: find it with list_sessions, and call again with its session_id alone."))
	}
}

// fail answers a request that the server did not answer. A cancelled one gets no answer.
func (b *mcpBridge) fail(ctx context.Context, m *mcpMessage, err error) {
	if ctx.Err() == nil && m.ID != nil && m.Method != "" {
		said := parley.AppendJSONString([]byte(`{"code":-32000,"message":`), err.Error())
		b.write(mcpError(m.ID, append(said, '}')))
	}
}

// mcpError is the message of an error.
func mcpError(id, said json.RawMessage) []byte {
	message := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"error":`...)
	return append(append(message, said...), '}')
}

// write writes one message.
func (b *mcpBridge) write(message []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed == nil {
		_, b.failed = b.out.Write(append(bytes.Clone(message), '\n'))
	}
}
