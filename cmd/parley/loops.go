package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

func loopsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "loops", Short: "Run a task again and again in a session, until it is done"}
	command.AddCommand(
		startLoopCommand(shared, term),
		loopsListCommand(shared, term),
		loopsShowCommand(shared, term),
		loopsStopCommand(shared, term),
	)
	return command
}

func startLoopCommand(shared *flags, term terminal) *cobra.Command {
	var input client.LoopInput
	var until client.LoopUntilInput
	var most int
	var schema string
	var detach bool
	command := &cobra.Command{
		Use:   "start SESSION PROMPT",
		Short: "Start a loop and print its iterations as they run",
		Args:  cobra.ExactArgs(2),
		Long: "Start a loop and print its iterations as they run. Ctrl-C leaves the loop running;\nparley loops " +
			"stop ends it.",
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, args []string) error {
			input.Prompt, input.Max = args[1], &most
			if schema != "" {
				var err error
				if until.Schema, err = os.ReadFile(schema); err != nil { //nolint:gosec // the user's own file
					return err
				}
			}
			if until.ToolCalled != "" || until.TextMatches != "" || len(until.Schema) > 0 {
				input.Until = &until
			}
			session, err := server.Session(ctx, id)
			if err != nil {
				return err
			}
			loop, err := server.StartLoop(ctx, id, input)
			if err != nil {
				return err
			}
			if detach {
				return printLoop(term, shared, loop)
			}
			c := &chat{server: server, term: term, json: shared.json, session: session}
			return c.follow(ctx, loop, session.LastEvent)
		}),
	}
	command.Flags().IntVar(&most, "max", parley.DefaultLoopIterations, "iterations at most")
	command.Flags().StringVar(&until.ToolCalled, "until-tool", "", "end when an iteration has called this tool")
	command.Flags().
		StringVar(&until.TextMatches, "until-text", "", "end when an answer matches this regular expression (RE2)")
	command.Flags().
		StringVar(&schema, "until-schema", "", "end when an answer is JSON that satisfies the JSON Schema in this file")
	command.Flags().IntVar(&input.Context.Recent, "recent", 0, "how many earlier iterations each one sees; 0: none")
	command.Flags().BoolVar(&input.ArchiveDone, "archive", false, "archive the session when the loop is done")
	command.Flags().BoolVar(&detach, "detach", false, "do not wait for it")
	return command
}

// follow prints a loop's iterations until it ends.
func (c *chat) follow(ctx context.Context, loop parley.Loop, after int64) error {
	view := newTurnView(c)
	for frame, err := range c.server.WatchSession(ctx, loop.SessionID, client.WatchSessionQuery{After: after}) {
		if parley.ErrorCode(err) == parley.CodeUnavailable {
			return parley.WrapError(parley.CodeUnavailable, err,
				"the server at "+c.server.URL()+" cannot be reached any more; the loop continues there")
		}
		if err != nil {
			return err
		}
		progress, err := view.loop(ctx, frame)
		switch {
		case err != nil:
			return err
		case progress.LoopID != loop.ID || progress.State == parley.LoopRunning:
		case progress.State == parley.LoopFailed:
			return errQuiet
		default:
			return nil
		}
	}
	return nil
}

// loop prints a frame of a session with a loop.
func (v *turnView) loop(ctx context.Context, frame client.Frame) (event.LoopProgress, error) {
	var progress event.LoopProgress
	if told, ok := frame.Event.(*event.LoopProgress); ok {
		progress = *told
	}
	if v.chat.json {
		return progress, v.chat.term.printLine(frame)
	}
	if frame.Type != parley.EventLoopProgress {
		v.print(ctx, frame)
		return progress, nil
	}
	v.endLine()
	fmt.Fprintf(v.chat.term.err, "[iteration %d of %d, %s", progress.Iteration, progress.Max, progress.State)
	if progress.Reason != nil {
		fmt.Fprintf(v.chat.term.err, ": %s", *progress.Reason)
	}
	fmt.Fprintln(v.chat.term.err, "]")
	return progress, nil
}

func printLoop(t terminal, shared *flags, loop parley.Loop) error {
	return printOne(t, shared, &loop, asRow(loopsTable()))
}
