package main

import (
	"context"
	"fmt"
	"io"
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
	targets := make([]bench.Target, 6)
	var sessions [6][]string
	for i := range targets {
		for range clients {
			session, err := p.session(ctx, agent)
			if err != nil {
				return nil, err
			}
			sessions[i] = append(sessions[i], session)
		}
		targets[i] = p.turnsIn(sessions[i])
	}
	chat := fmt.Appendf(nil, `{"model":%q,"stream":true,"stream_options":{"include_usage":true},`+
		`"messages":[{"role":"user","content":%q}]}`, agent, prompt)
	targets[1].Name, targets[1].First = "Chat Completions", []byte(`{"content":"`)
	targets[1].Request = func(client int) []byte {
		return bench.Post(p.addr, "/openai/v1/chat/completions", "text/event-stream\r\nX-Parley-Session: "+
			sessions[1][client], chat)
	}
	targets[2].Name, targets[2].First = "AI SDK", []byte(`"type":"text-delta"`)
	targets[2].Request = func(client int) []byte {
		return bench.Post(p.addr, "/ai-sdk/"+agent, "text/event-stream", fmt.Appendf(nil,
			`{"id":%q,"trigger":"submit-message","messages":[{"role":"user","parts":[{"type":"text","text":%q}]}]}`,
			sessions[2][client], prompt))
	}
	targets[3].Name, targets[3].First = "Responses", []byte(`output_text.delta"`)
	targets[3].Request = func(client int) []byte {
		return bench.Post(p.addr, "/openai/v1/responses", "text/event-stream", fmt.Appendf(nil,
			`{"model":%q,"stream":true,"conversation":"conv_%s","input":%q}`, agent, sessions[3][client], prompt))
	}
	targets[4].Name, targets[4].First = "AG-UI", []byte(`"TEXT_MESSAGE_CONTENT"`)
	targets[4].Request = func(client int) []byte {
		return bench.Post(p.addr, "/agui/"+agent, "text/event-stream", fmt.Appendf(nil,
			`{"threadId":%q,"runId":"r","messages":[{"role":"user","content":%q}]}`, sessions[4][client], prompt))
	}
	targets[5].Name, targets[5].First = "A2A", []byte(`"artifactUpdate"`)
	var sent atomic.Int64
	targets[5].Request = func(client int) []byte {
		return bench.Post(p.addr, "/a2a/"+agent, "text/event-stream\r\nA2A-Version: 1.0", fmt.Appendf(nil,
			`{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"%d-%d",`+
				`"role":"ROLE_USER","contextId":%q,"parts":[{"text":%q}]}}}`,
			client, sent.Add(1), sessions[5][client], prompt)) // each its own: one that comes again is not sent again
	}
	return targets, nil
}
