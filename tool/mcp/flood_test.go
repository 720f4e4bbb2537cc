package mcp_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/tool/mcp"
)

// TestFloods: a server that sends messages without end is away, with the reason, and is read no further.
func TestFloods(t *testing.T) {
	t.Parallel()
	const most = 100_000    // messages: several times what is accepted at once
	const mostAsked = 2_000 // requests: fewer than the messages accepted at once, more than may wait for an answer
	for name, message := range map[string]string{
		"notifications": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}`,
		"changed lists": `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		"long messages": `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` +
			strings.Repeat("x", 60<<10) + `"}}`,
		"requests": `{"jsonrpc":"2.0","id":%d,"method":"ping"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var sent, through atomic.Int64
			url := serve(t, newServer(), nil, func(next http.Handler) http.Handler {
				return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost && name == "requests" {
						body, _ := io.ReadAll(r.Body) // a request of ours
						if strings.Contains(string(body), `"result"`) {
							<-r.Context().Done() // never takes an answer
							return
						}
						r.Body = io.NopCloser(strings.NewReader(string(body)))
					}
					if r.Method != http.MethodGet {
						next.ServeHTTP(w, r)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					count := most
					if name == "requests" {
						count = mostAsked
					}
					for i := range count {
						text := message
						if strings.Contains(text, "%d") {
							text = fmt.Sprintf(text, i)
						}
						if _, err := io.WriteString(w, "data: "+text+"\n\n"); err != nil {
							return
						}
						sent.Add(1)
					}
					through.Add(1)
					<-r.Context().Done()
				})
			})
			source := open(t, mcp.Server{Name: "web", URL: url, AllowPrivate: true, Protocol: "2025-11-25"})
			until(t, "the end of the flood", func() bool {
				for _, fault := range source.Faults() {
					if strings.Contains(fault.Reason, "more messages than Parley accepts") {
						return true
					}
				}
				return name != "requests" && through.Load() > 0
			})
			if name != "requests" && through.Load() > 0 {
				t.Errorf("all %d messages were taken", sent.Load())
			}
		})
	}
}

// floodingChild is a stdio server that sends notifications and then takes part in nothing.
func floodingChild() error {
	out := bufio.NewWriter(os.Stdout)
	for range 100_000 {
		if _, err := out.WriteString(`{"jsonrpc":"2.0","method":"notifications/message",` +
			`"params":{"level":"info","data":"x"}}` + "\n"); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return newServer().Run(context.Background(), &sdk.StdioTransport{})
}

// TestFloodsOverStdio: a program that floods its output is away, with the reason.
func TestFloodsOverStdio(t *testing.T) {
	t.Parallel()
	source := open(t, childServer(t, "web", "floods"))
	faults := source.Faults()
	if len(faults) != 1 || !strings.Contains(faults[0].Reason, "more messages than Parley accepts") {
		t.Errorf("its faults are %v", faults)
	}
}
