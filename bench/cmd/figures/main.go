// Command figures measures Parley against its references and prints the tables of bench/README.md.
// `go run ./bench/cmd/figures -only cpu` runs one part.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.org/parley/bench"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "provider":
		err = reference(ctx, nil)
	case len(os.Args) > 1 && os.Args[1] == "tools":
		err = toolServer(ctx)
	case len(os.Args) > 2 && os.Args[1] == "proxy":
		var target *url.URL
		if target, err = url.Parse(os.Args[2]); err == nil {
			err = reference(ctx, target)
		}
	default:
		err = figures(ctx, os.Args[1:], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

// reference runs the provider or, with a target, the proxy, until a signal.
func reference(ctx context.Context, target *url.URL) error {
	listener, err := bench.Listen(ctx)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	go func() { // ends the serving below
		<-ctx.Done()
		os.Exit(0)
	}()
	if target == nil {
		return bench.ServeProvider(listener)
	}
	return bench.ServeProxy(listener, target)
}

// part is one group of figures.
type part struct {
	name string
	run  func(context.Context, *lab, io.Writer) error
}

func parts() []part {
	return []part{
		{"start", startFigures},
		{"cpu", cpuFigures},
		{"paced", pacedFigures},
		{"first", firstFigures},
		{"long", longFigures},
		{"memory", memoryFigures},
		{"store", storeFigures},
		{"tools", toolFigures},
		{
			"context",
			contextFigures,
		},
		{"compaction", compactionFigures},
		{"mcp", mcpFigures},
		{"postgres", postgresFigures},
		{"claims", claimFigures},
		{"cluster", clusterFigures},
		{"cancel", cancelFigures},
		{"death", deathFigures},
		{"pairs", pairFigures},
		{"prefix", prefixFigures},
		{"fair", fairFigures},
		{"search", searchFigures},
		{"delegations", delegationFigures},
		{"schedules", scheduleFigures},
		{"documents", documentFigures},
		{"lineage", lineageFigures},
		{"protocols", protocolFigures},
		{"watchers", watcherFigures},
		{"webhooks", webhookFigures},
		{"objects", objectFigures},
	}
}

func figures(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("figures", flag.ContinueOnError)
	only := flags.String("only", "", "parts to run, separated by commas; all when empty")
	rounds := flags.Int("rounds", 3, "rounds of each figure, medians are printed")
	data := flags.String("dir", "", "where to put data; a temporary directory when empty")
	messages := flags.Int("messages", 20_000, "number of messages to search")
	before := flags.String("before", "", "the binary of an earlier build, for pairs")
	binary := flags.String("parley", "", "the binary to measure; built when empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := newLab(ctx, *rounds, *data, *binary)
	if err != nil {
		return err
	}
	l.messages, l.before = *messages, *before
	for _, p := range parts() {
		if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
			continue
		}
		began := time.Now()
		fmt.Fprintf(out, "\n== %s\n", p.name)
		if err := p.run(ctx, l, out); err != nil {
			return fmt.Errorf("%s: %w", p.name, closing(err, l))
		}
		fmt.Fprintf(os.Stderr, "%s took %s\n", p.name, time.Since(began).Round(time.Second))
	}
	return l.close()
}
