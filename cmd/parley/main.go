// Command parley is the server and its command line: `parley serve` runs the server, the other
// commands talk to it over HTTP.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/internal/confine"
	"example.org/parley/internal/program"
)

// version is this build's version, shown by --version and sent to other servers.
const version = "0.1.0"

func main() {
	program.Main(os.Args)
	confine.Main(os.Args)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// run is the whole program except for its process; tests call it too.
func run(ctx context.Context, args []string, term terminal) int {
	term = term.shown()
	root := rootCommand(term)
	root.SetArgs(args)
	err := unknownVerb(root, args)
	if err == nil {
		err = root.ExecuteContext(ctx)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errQuiet):
		return 1
	}
	var known *parley.Error
	if errors.As(err, &known) && known.Code != parley.CodeInternal {
		return printError(term.err, err, known.Message)
	}
	return printError(term.err, err, err.Error())
}

// errQuiet ends a command that has already printed what went wrong.
var errQuiet = errors.New("failed")

func rootCommand(term terminal) *cobra.Command {
	shared := &flags{}
	root := &cobra.Command{
		Use:   "parley",
		Short: "A durable home for agent conversations",
		Long: "Parley keeps agents, their sessions, every message and every model call, runs the\nagents' " +
			"turns, streams them to any number of watchers, and loses nothing when a\nprocess dies.\n\nStart with: " +
			"parley serve",
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	persistent := root.PersistentFlags()
	persistent.StringVar(&shared.data, "data", "", "data directory (PARLEY_DATA; default ~/.local/share/parley)")
	persistent.StringVar(
		&shared.databaseURL,
		"database-url",
		"",
		"postgres://… instead of SQLite in the data directory (PARLEY_DATABASE_URL; prefer that, other users of the "+
			"machine see flags)",
	)
	persistent.StringVar(
		&shared.listenURL,
		"listen-url",
		"",
		"the same database past a pooler, for notifications and migrations (PARLEY_LISTEN_URL)",
	)
	persistent.StringVar(&shared.url, "url", "", "address of the server to talk to (PARLEY_URL)")
	persistent.StringVar(&shared.key, "key", "", "API key (PARLEY_KEY); not needed on the server's own machine")
	persistent.StringVar(
		&shared.workspace,
		"workspace",
		"",
		"workspace to work in, for the machine's own user (PARLEY_WORKSPACE)",
	)
	persistent.BoolVar(&shared.json, "json", false, "print JSON")
	root.AddCommand(
		serveCommand(shared, term),
		chatCommand(shared, term),
		mcpCommand(shared, term),
		acpCommand(shared, term),
		agentsCommand(shared, term),
		teamCommand(shared, term),
		sessionsCommand(shared, term),
		limitsShowCommand(shared, term),
		messagesCommand(shared, term),
		callsCommand(shared, term),
		toolsListCommand(shared, term),
		toolServersCommand(shared, term),
		modelsListCommand(shared, term),
		providersListCommand(shared, term),
		approvalsCommand(shared, term),
		delegationsCommand(shared, term),
		inboxCommand(shared, term),
		filesCommand(shared, term),
		importCommand(shared, term),
		queueCommand(shared, term),
		turnsCommand(shared, term),
		loopsCommand(shared, term),
		webhooksCommand(shared, term),
		artifactsCommand(shared, term),
		transformsCommand(shared, term),
		pipelinesCommand(shared, term),
		lineageCommand(shared, term),

		workspaceCommand(shared, term),
		keysCommand(shared, term),
		auditCommand(shared, term),
		verifyCommand(shared, term),
		usageCommand(shared, term),
		searchCommand(shared, term),
		cacheCommand(shared, term),
		backupCommand(shared, term),
		restoreCommand(shared, term),
		reindexCommand(shared, term),
		migrateCommand(shared, term),
		readyCommand(shared, term),
		copyCommand(shared, term),
		doctorCommand(shared, term),
		openapiCommand(term),
		referenceCommand(term),
	)
	root.AddCommand(generatedNouns(shared, term)...)
	root.SetIn(term.in)
	root.SetOut(term.out)
	root.SetErr(term.err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	checkArguments(root)
	completeWords(root, shared)
	return root
}
