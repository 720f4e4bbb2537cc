package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"example.org/parley/bench"
)

// manyTools is the number of tools of this part's server.
const manyTools = 100

// toolServer serves manyTools over streamable HTTP until ctx ends.
func toolServer(ctx context.Context) error {
	server := sdk.NewServer(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	for i := range manyTools {
		server.AddTool(&sdk.Tool{
			Name: fmt.Sprintf("find_records_%03d", i),
			Description: "Finds records of one kind in the archive by their fields, newest first, and tells of each " +
				"its id, title and the date of its last change.",
			InputSchema: json.RawMessage(
				`{"type":"object","additionalProperties":false,"required":["query"],"properties":{` +
					`"query":{"type":"string","description":"Words that the record holds, or a phrase in quotes."},` +
					`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"How many ` +
					`records at most."},` +
					`"order":{"type":"string","enum":["newest","oldest","relevance"],"description":"What comes ` +
					`first."},` +
					`"filters":{"type":"array","items":{"type":"object","properties":{"field":{"type":"string"},` +
					`"value":{"type":"string"}},"required":["field","value"]}}}}`,
			),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	}
	listener, err := bench.Listen(ctx)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	web := &http.Server{
		Handler:           sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil),
		ReadHeaderTimeout: time.Minute,
	}
	go func() { // ends the serving below
		<-ctx.Done()
		_ = web.Close()
	}()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mcpFigures measures what 100 tools of an MCP server add to a turn up to the first token: finding and sorting them,
// the request's bytes, their hash, their record and the way to the provider.
func mcpFigures(ctx context.Context, l *lab, out io.Writer) (err error) {
	tools, err := bench.Start(ctx, nil, l.self, "tools")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tools.Stop()) }()
	dir, err := os.MkdirTemp(l.dir, "data-")
	if err != nil {
		return err
	}
	settings := fmt.Sprintf("mcp: [{name: many, url: 'http://%s', allow_private: true}]\n", tools.Line)
	if err := os.WriteFile(filepath.Join(dir, "parley.yaml"), []byte(settings), 0o600); err != nil {
		return err
	}
	server, err := l.startIn(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	const turns = 200
	var targets []bench.Target
	for slug, named := range map[string]string{"bare": `[]`, "tooled": `["many__*"]`} {
		body := fmt.Sprintf(
			`{"name":%q,"slug":%q,"model":"openai/%s","context_policy":{"kind":"single"},"tools":%s}`,
			slug,
			slug,
			bench.ModelName(20, 0),
			named,
		)
		if err := server.do(ctx, http.MethodPost, "/v1/agents", body, nil); err != nil {
			return err
		}
		target, err := server.turns(ctx, slug, 1)
		if err != nil {
			return err
		}
		target.Name = slug
		targets = append(targets, target)
	}
	first, cpu := map[string][]time.Duration{}, map[string][]time.Duration{}
	for round := range l.rounds + 1 { // the first warms up
		for _, target := range targets {
			got, err := measure(ctx, server.Process, target, 1, turns)
			if err != nil {
				return err
			}
			if round > 0 {
				first[target.Name], cpu[target.Name] = append(
					first[target.Name],
					got.first,
				), append(
					cpu[target.Name],
					got.cpu,
				)
			}
		}
	}
	bare, tooled := medianOf(first["bare"]), medianOf(first["tooled"])
	fmt.Fprintf(
		out,
		"time to first token, one client: without tools %v, with %d MCP tools %v: added %v (bound 2 ms), CPU per "+
			"turn %v to %v\n",
		bare,
		manyTools,
		tooled,
		tooled-bare,
		medianOf(cpu["tooled"]),
		medianOf(cpu["bare"]),
	)
	return nil
}
