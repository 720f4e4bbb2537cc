package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.org/parley/bench"
)

// cacheMark is what requests mark for a provider's cache: the bytes are compared without it.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// prefixTurns is how many turns the figure covers.
const prefixTurns = 20

// wireFigure is a wire as the figure sees it: the relative cost of a cached token, and of one written to the cache.
type wireFigure struct {
	model           string
	cached, written float64
}

// prefixFigures measures how much of what is sent over turns with tools repeats the beginning of what was sent before,
// counted at a provider, and the resulting price where cached tokens cost a tenth. Each message carries the time and
// its author.
func prefixFigures(ctx context.Context, l *lab, out io.Writer) error {
	listener, err := bench.Listen(ctx)
	if err != nil {
		return err
	}
	provider := &recorder{}
	server := &http.Server{Handler: provider} //nolint:gosec // loopback, only during the figure
	go server.Serve(listener)                 //nolint:errcheck // ended by Close
	defer server.Close()                      //nolint:errcheck // the figure is printed
	dir, err := os.MkdirTemp(l.dir, "data-")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), providersAt(listener.Addr()), 0o600); err != nil {
		return err
	}
	parley, err := l.startIn(ctx, dir)
	if err != nil {
		return err
	}
	for i, wire := range []wireFigure{{"openai/gpt-4.1", 0.1, 1}, {"dashscope/qwen-plus", 0.1, 1.25},
		{"anthropic/claude-sonnet-4-5", 0.1, 1.25}} {
		sent, err := parley.converse(ctx, provider, fmt.Sprintf("prefix-%d", i), wire.model)
		if err != nil {
			return err
		}
		all, same := 0, 0
		var before []byte
		for _, body := range sent {
			body = bytes.ReplaceAll(body, []byte(cacheMark), nil)
			all += len(body)
			for n := range min(len(before), len(body)) {
				if before[n] != body[n] {
					break
				}
				same++
			}
			before = body
		}
		share := float64(same) / float64(all)
		price := share*wire.cached + (1-share)*wire.written
		fmt.Fprintf(
			out,
			"%-28s %d turns, %d calls, %d kB sent: %.1f %% an unchanged prefix (bound 90 %%); input costs %.0f %% "+
				"less (bound 75 %%)\n",
			wire.model,
			prefixTurns,
			len(sent),
			all/1000,
			100*share,
			100*(1-price),
		)
	}
	return parley.end()
}

func providersAt(addr net.Addr) []byte {
	return fmt.Appendf(nil, "providers:\n"+
		"  - {name: openai, kind: openai, base_url: \"http://%[1]s/v1\", key_env: OPENAI_API_KEY}\n"+
		"  - {name: dashscope, kind: openai, base_url: \"http://%[1]s/v1\", key_env: OPENAI_API_KEY}\n"+
		"  - {name: anthropic, kind: anthropic, base_url: \"http://%[1]s\", key_env: OPENAI_API_KEY}\n", addr)
}

// converse runs the turns in a session of an agent of its own and returns the requests that the provider received, in
// order.
func (p *parleyRun) converse(ctx context.Context, provider *recorder, slug, model string) ([][]byte, error) {
	agent := fmt.Sprintf(
		`{"name":%q,"slug":%q,"model":%q,"system_prompt":%q,"tools":["current_time","list_files","read_file"],`+
			`"middleware":{"user_context":["user","time"]}}`,
		slug,
		slug,
		model,
		strings.Repeat("You help to plan journeys by train. ", 30),
	)
	if err := p.do(ctx, http.MethodPost, "/v1/agents", agent, nil); err != nil {
		return nil, err
	}
	session, err := p.session(ctx, slug)
	if err != nil {
		return nil, err
	}
	provider.take()
	for turn := range prefixTurns {
		body := fmt.Sprintf(
			`{"content":{"text":"Question %d: %s"}}`,
			turn+1,
			strings.Repeat("when does it leave, and where do I change? ", 4),
		)
		request, err := http.NewRequestWithContext(
			ctx,
			http.MethodPost,
			"http://"+p.addr+"/v1/sessions/"+session+"/messages",
			strings.NewReader(body),
		)
		if err != nil {
			return nil, err
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "text/event-stream")
		response, err := p.http.Do(request)
		if err != nil {
			return nil, err
		}
		stream, err := io.ReadAll(response.Body)
		_ = response.Body.Close() // read to its end
		if err != nil {
			return nil, err
		}
		if !bytes.Contains(stream, []byte("event: session.completed")) {
			return nil, fmt.Errorf("turn %d ended as %s", turn+1, stream)
		}
	}
	return provider.take(), nil
}

// recorder is a provider of both wires that stores the requests: it calls current_time once per question, and answers
// once it has the result.
type recorder struct {
	mu   sync.Mutex // guards sent
	sent [][]byte
}

func (r *recorder) take() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	sent := r.sent
	r.sent = nil
	return sent
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	r.mu.Lock()
	r.sent = append(r.sent, body)
	n := len(r.sent)
	r.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	text := strings.Repeat("You leave at nine and change twice. ", 12)
	chat, calls := strings.HasSuffix(request.URL.Path, "/chat/completions"), n%2 == 1
	var frames []string
	switch {
	case chat && calls:
		frames = []string{
			fmt.Sprintf(
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","type":"function",`+
					`"function":{"name":"current_time","arguments":"{\"timezone\":\"UTC\"}"}}]},`+
					`"finish_reason":"tool_calls"}]}`,
				n,
			),
			"[DONE]",
		}
	case chat:
		frames = []string{
			fmt.Sprintf(`{"choices":[{"index":0,"delta":{"content":%q},"finish_reason":"stop"}]}`, text),
			"[DONE]",
		}
	case calls:
		frames = []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}`,
			fmt.Sprintf(
				`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_%d",`+
					`"name":"current_time","input":{}}}`,
				n,
			),
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta",` +
				`"partial_json":"{\"timezone\":\"UTC\"}"}}`,
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
			`{"type":"message_stop"}`,
		}
	default:
		frames = []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":1,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			fmt.Sprintf(
				`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%q}}`,
				text,
			),
			`{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":90}}`,
			`{"type":"message_stop"}`,
		}
	}
	for _, frame := range frames {
		fmt.Fprintf(w, "data: %s\n\n", frame)
	}
}
