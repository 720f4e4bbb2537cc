package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"example.org/parley/bench"
)

// protocolFigures compares a 200-token turn through each protocol with one through the server's own API, in sessions
// that exist: 64 at once for the processor, and one client for the first token.
func protocolFigures(ctx context.Context, l *lab, out io.Writer) error {
	server, err := l.start(ctx)
	if err != nil {
		return err
	}
	for _, load := range []struct{ tokens, clients, turns int }{{200, 64, 2000}, {20, 1, 400}} {
		agent := fmt.Sprintf("bench-%d", load.tokens)
		model := "openai/" + bench.ModelName(load.tokens, 0)
		if err := server.agent(ctx, agent, model, `{"kind":"single"}`); err != nil {
			return err
		}
		targets, err := server.protocols(ctx, agent, load.clients)
		if err != nil {
			return err
		}
		got, err := interleaved(ctx, server, targets, l.rounds, load.clients, load.turns)
		if err != nil {
			return err
		}
		own := medians(got[0])
		for i, target := range targets[1:] {
			other := medians(got[i+1])
			if load.clients > 1 {
				fmt.Fprintf(
					out,
					"%s, CPU of the server per %d-token turn, %d at once: %v, own API %v: %.2f× (bound 1.25×)\n",
					target.Name,
					load.tokens,
					load.clients,
					other.cpu,
					own.cpu,
					ratio(other.cpu, own.cpu),
				)
				continue
			}
			fmt.Fprintf(out, "%s, first token, one client: %v, own API %v: %v later (bound 0.3 ms)\n", target.Name,
				other.first.Round(time.Microsecond), own.first.Round(time.Microsecond),
				(other.first - own.first).Round(time.Microsecond))
		}
	}
	return server.end()
}

// interleaved measures rounds of several targets of one server, the first of which warms up.
func interleaved(
	ctx context.Context, server *parleyRun, targets []bench.Target, rounds, clients, turns int,
) ([][]load, error) {
	got := make([][]load, len(targets))
	for round := range rounds + 1 {
		for i := range targets {
			one, err := measure(ctx, server, targets[i], clients, turns)
			if err != nil {
				return nil, err
			}
			if round > 0 {
				got[i] = append(got[i], one)
			}
		}
	}
	return got, nil
}

// protocols returns the server's own API and each protocol as targets: clients talk in sessions of their own.
func (p *parleyRun) protocols(ctx context.Context, agent string, clients int) ([]bench.Target, error) {
	var sent atomic.Int64
	targets := []bench.Target{}
	for _, one := range []struct {
		name, first string
		request     func(session string) []byte // nil: the server's own
	}{
		{name: "own API"},
		{"Chat Completions", `{"content":"`, func(session string) []byte {
			return bench.Post(p.addr, "/openai/v1/chat/completions", "text/event-stream\r\nX-Parley-Session: "+session,
				fmt.Appendf(nil, `{"model":%q,"stream":true,"stream_options":{"include_usage":true},`+
					`"messages":[{"role":"user","content":%q}]}`, agent, prompt))
		}},
		{"AI SDK", `"type":"text-delta"`, func(session string) []byte {
			return bench.Post(p.addr, "/ai-sdk/"+agent, "text/event-stream", fmt.Appendf(nil,
				`{"id":%q,"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`,
				session, prompt))
		}},
		{"Responses", `output_text.delta"`, func(session string) []byte {
			return bench.Post(p.addr, "/openai/v1/responses", "text/event-stream", fmt.Appendf(nil,
				`{"model":%q,"stream":true,"conversation":"conv_%s","input":%q}`, agent, session, prompt))
		}},
		{"AG-UI", `"TEXT_MESSAGE_CONTENT"`, func(session string) []byte {
			return bench.Post(p.addr, "/agui/"+agent, "text/event-stream", fmt.Appendf(nil,
				`{"threadId":%q,"runId":"r","messages":[{"role":"user","content":%q}]}`, session, prompt))
		}},
		{"Anthropic Messages", `"text_delta"`, func(session string) []byte {
			return bench.Post(p.addr, "/anthropic/v1/messages", "text/event-stream\r\nX-Parley-Session: "+session,
				fmt.Appendf(nil, `{"model":%q,"max_tokens":1000,"stream":true,`+
					`"messages":[{"role":"user","content":%q}]}`, agent, prompt))
		}},
		{"A2A", `"artifactUpdate"`, func(session string) []byte {
			return bench.Post(p.addr, "/a2a/"+agent, "text/event-stream\r\nA2A-Version: 1.0", fmt.Appendf(nil,
				`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"%d",`+
					`"role":"ROLE_USER","contextId":%q,"parts":[{"text":%q}]}}}`,
				sent.Add(1), session, prompt)) // each its own: one that comes again is not sent again
		}},
	} {
		sessions := make([]string, clients)
		for i := range sessions {
			var err error
			if sessions[i], err = p.session(ctx, agent); err != nil {
				return nil, err
			}
		}
		target := p.turnsIn(sessions)
		if one.request != nil {
			target.Name, target.First = one.name, []byte(one.first)
			target.Request = func(client int) []byte { return one.request(sessions[client]) }
		}
		targets = append(targets, target)
	}
	return targets, nil
}

// protocolWatchers are idle watchers of each protocol that can watch: of a turn that writes nothing for a long time.
const protocolWatchers = 1000

// watcherFigures measures the memory of idle watchers of each protocol.
func watcherFigures(ctx context.Context, l *lab, out io.Writer) error {
	for _, one := range []struct {
		name    string
		request func(session, message, turn, addr string) []byte
	}{
		{"own API", func(session, _, _, addr string) []byte {
			return bench.Get(addr, "/v1/sessions/"+session+"/events", "text/event-stream")
		}},
		{"AI SDK", func(session, _, _, addr string) []byte {
			return bench.Get(addr, "/ai-sdk/bench/"+session+"/stream", "text/event-stream")
		}},
		{"Responses", func(_, message, _, addr string) []byte {
			return bench.Get(addr, "/openai/v1/responses/resp_"+message+"?stream=true", "text/event-stream")
		}},
		{"OpenAI Agents", func(session, _, _, addr string) []byte {
			return bench.Get(addr, "/openai/v1/agents/sessions/asess_"+session+"/events", "text/event-stream")
		}},
		{"Anthropic Managed Agents", func(session, _, _, addr string) []byte {
			return bench.Get(addr, "/anthropic/v1/sessions/sesn_"+session+"/events/stream", "text/event-stream")
		}},
		{"AG-UI", func(session, _, _, addr string) []byte {
			return bench.Post(addr, "/agui/bench/connect", "text/event-stream",
				fmt.Appendf(nil, `{"threadId":%q,"runId":"r","messages":[]}`, session))
		}},
		{"A2A", func(_, _, turn, addr string) []byte {
			return bench.Post(addr, "/a2a/bench", "text/event-stream\r\nA2A-Version: 1.0",
				fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"SubscribeToTask","params":{"id":%q}}`, turn))
		}},
	} {
		var each []int64
		for range l.rounds {
			memory, err := l.watchersOf(ctx, one.request)
			if err != nil {
				return fmt.Errorf("%s: %w", one.name, err)
			}
			each = append(each, memory)
		}
		fmt.Fprintf(out, "%s, idle watcher, %d at once: %.1f KiB (bound 40 KiB)\n", one.name, protocolWatchers,
			float64(medianOf(each))/1024)
	}
	return nil
}

// watchersOf returns the memory of each of many watchers of one turn.
func (l *lab) watchersOf(
	ctx context.Context, request func(session, message, turn, addr string) []byte,
) (memory int64, err error) {
	server, err := l.start(ctx, "PARLEY_DRAIN=0s")
	if err != nil {
		return 0, err
	}
	if err := server.agent(ctx, "bench", "openai/"+bench.ModelName(2, time.Hour), `{"kind":"single"}`); err != nil {
		return 0, err
	}
	session, err := server.session(ctx, "bench")
	if err != nil {
		return 0, err
	}
	var posted struct {
		ID     string `json:"id"`
		TurnID string `json:"turn_id"`
	}
	body := fmt.Sprintf(`{"content":{"text":%q}}`, prompt)
	if err := server.do(ctx, http.MethodPost, "/v1/sessions/"+session+"/messages", body, &posted); err != nil {
		return 0, err
	}
	asked := request(session, posted.ID, posted.TurnID, server.addr)
	var conns []net.Conn
	open := func() error {
		conn, err := watch(ctx, server.addr, asked)
		conns = append(conns, conn)
		return err
	}
	if err := open(); err != nil { // and what the first one of a process makes
		return 0, err
	}
	before, _, err := server.Memory()
	if err != nil {
		return 0, err
	}
	for range protocolWatchers {
		if err := open(); err != nil {
			return 0, err
		}
	}
	after, _, err := server.Memory()
	if err != nil {
		return 0, err
	}
	for _, conn := range conns {
		if err := conn.Close(); err != nil {
			return 0, err
		}
	}
	return (after - before) / protocolWatchers, server.end()
}
