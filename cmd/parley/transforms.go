package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
)

func transformsCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "transforms", Short: "Run generations that read documents and write others"}
	command.AddCommand(
		transformsListCommand(shared, term),
		transformsShowCommand(shared, term),
		runTransformCommand(shared, term),
		againCommand(shared, term, "cancel", "Cancel a transform", (*client.Client).CancelTransform),
		againCommand(
			shared,
			term,
			"retry",
			"Run a failed or cancelled transform again",
			(*client.Client).RetryTransform,
		),
		transformsDefinitionsCommand(shared, term),
		definitionCommand(shared, term),
		defineTransformCommand(shared, term),
		archiveDefinitionCommand(shared, term),
	)
	return command
}

// transformWrites returns the versions that a transform has written, and what it is to replace, on one line.
func transformWrites(t *parley.Transform) string {
	var written []string
	for i := range t.Outputs {
		out := &t.Outputs[i]
		text := out.ArtifactID.String()
		switch {
		case out.Conflict:
			text += "@" + strconv.Itoa(out.Version) + " (conflict)"
		case out.Version > 0:
			text += "@" + strconv.Itoa(out.Version)
		case out.Creates: // it leads nowhere yet
			continue
		}
		written = append(written, text)
	}
	return cmp.Or(strings.Join(written, ", "), "-")
}

// printTransform prints a transform, and why it failed.
func printTransform(t terminal, made *parley.Transform) error {
	if err := asRow(transformsTable())(t, made); err != nil || made.Failure == nil {
		return err
	}
	said := made.Failure.Sentence
	if made.Failure.Detail != "" {
		said += " (" + made.Failure.Detail + ")"
	}
	_, err := fmt.Fprintln(t.out, "\n"+said)
	return err
}

// printDefinition prints a definition with its instructions.
func printDefinition(t terminal, d *parley.TransformDefinition) error {
	if err := asRow(transformsDefinitionsTable())(t, d); err != nil {
		return err
	}
	_, err := fmt.Fprintln(t.out, "\n"+d.Instructions)
	return err
}

// followTransform waits for the end of a transform and prints what it has written. One that does not complete is an
// error that has been told.
func followTransform(
	ctx context.Context, server *client.Client, shared *flags, term terminal, made parley.Transform, err error,
) error {
	if err != nil {
		return err
	}
	if !shared.json {
		fmt.Fprintf(term.err, "transform %s\n", made.ID)
	}
	for frame, err := range server.WatchSession(ctx, made.SessionID, client.WatchSessionQuery{}) {
		if err != nil {
			return err
		}
		if !frame.Type.EndsTurn() {
			continue
		}
		if made, err = server.Transform(ctx, made.ID); err != nil {
			return err
		}
		if made.Status.Finished() {
			break
		}
	}
	if err := printOne(term, shared, &made, printTransform); err != nil {
		return err
	}
	if made.Status != parley.TransformCompleted {
		return errQuiet
	}
	return nil
}

// againCommand is cancel and retry: what is asked of one transform.
func againCommand(
	shared *flags,
	term terminal,
	name, says string,
	ask func(*client.Client, context.Context, parley.ID, ...client.Option) (parley.Transform, error),
) *cobra.Command {
	command := &cobra.Command{Use: name + " TRANSFORM", Short: says, Args: cobra.ExactArgs(1)}
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		id, err := parley.ParseID(args[0])
		if err != nil {
			return err
		}
		got, err := ask(server, ctx, id)
		if err != nil {
			return err
		}
		return printOne(term, shared, &got, printTransform)
	})
	return command
}

// readInput reads an input as it is named on the command line: ARTIFACT[@VERSION][#POINTER].
func readInput(given string) (in client.TransformReadInput, err error) {
	rest, pointer, _ := strings.Cut(given, "#")
	id, version, versioned := strings.Cut(rest, "@")
	if in.ArtifactID, err = parley.ParseID(id); err != nil {
		return in, err
	}
	in.Pointer = pointer
	if versioned {
		if in.Version, err = strconv.Atoi(version); err != nil {
			return in, parley.InvalidField("input", "%q is not the number of a version", parley.Clip(version, 32))
		}
	}
	return in, nil
}

func runTransformCommand(shared *flags, term terminal) *cobra.Command {
	var input client.RunTransformInput
	var inputs []string
	var output, kind, title, model string
	var cite, detach bool
	command := &cobra.Command{
		Use:   "run [INSTRUCTIONS]",
		Short: "Run a transform, by itself or by a definition, and print what it has written",
		Args:  cobra.MaximumNArgs(1),
		Long: "Run a transform, by itself or by a definition, and print what it has written. Ctrl-C leaves it " +
			"running;\nparley transforms cancel ends it.",
	}
	set := command.Flags()
	set.StringVar(&input.Definition, "definition", "", "the definition to run, by id or slug")
	set.StringVar(&input.Name, "name", "", "its name")
	set.StringVar(&input.AgentID, "agent", "", "the agent whose system prompt counts; parley by default")
	set.StringVar(&model, "model", "", "the model, such as openai/gpt-5")
	set.StringArrayVar(&inputs, "input", nil, "what to read, as ARTIFACT[@VERSION][#POINTER]; repeatable")
	set.StringVar(&output, "output", "", "the artifact to write; without it, one is created")
	set.StringVar(&kind, "kind", "markdown", "kind of the artifact that is created, without a definition")
	set.StringVar(&title, "title", "", "its name; that of the transform by default")
	set.BoolVar(&cite, "cite", false, "ask the model for the sources of what it writes")
	set.BoolVar(&detach, "detach", false, "do not wait for it")
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		if len(args) == 1 {
			input.Instructions = args[0]
		}
		if strings.TrimSpace(input.Instructions) == "" && input.Definition == "" {
			return parley.Errorf(parley.CodeInvalid, "say what to write, or name a definition with --definition")
		}
		if cite {
			input.Cite = &cite
		}
		if input.Name == "" && input.Definition == "" {
			input.Name = parley.TitleFrom(input.Instructions)
		}
		input.Model = parley.ModelID(model)
		for _, given := range inputs {
			in, err := readInput(given)
			if err != nil {
				return err
			}
			input.Inputs = append(input.Inputs, in)
		}
		target := client.TransformWriteInput{Title: title}
		if output != "" {
			var err error
			if target.ArtifactID, err = parley.ParseID(output); err != nil {
				return err
			}
		} else if input.Definition == "" {
			target.Kind = parley.ArtifactKind(kind)
		}
		if output != "" || title != "" || input.Definition == "" {
			input.Outputs = append(input.Outputs, target)
		}
		made, err := server.RunTransform(ctx, input)
		if err != nil || !detach {
			return followTransform(ctx, server, shared, term, made, err)
		}
		return printOne(term, shared, &made, printTransform)
	})
	return command
}

func defineTransformCommand(shared *flags, term terminal) *cobra.Command {
	var input client.DefinitionInput
	var kind, title, model string
	command := &cobra.Command{
		Use:   "define NAME INSTRUCTIONS",
		Short: "Define a transform that writes one artifact, to run it again and again",
		Args:  cobra.ExactArgs(2),
	}
	set := command.Flags()
	set.StringVar(&input.AgentID, "agent", "", "the agent whose system prompt counts; parley by default")
	set.StringVar(&model, "model", "", "the model, such as openai/gpt-5")
	set.StringVar(&kind, "kind", "markdown", "kind of the artifact")
	set.StringVar(&title, "title", "", "its name; that of the definition by default")
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		input.Name, input.Instructions, input.Model = args[0], args[1], parley.ModelID(model)
		input.Outputs = []client.DefinedOutputInput{{Kind: parley.ArtifactKind(kind), Title: title}}
		made, err := server.CreateTransformDefinition(ctx, input)
		if err != nil {
			return err
		}
		return printOne(term, shared, &made, asRow(transformsDefinitionsTable()))
	})
	return command
}

func definitionCommand(shared *flags, term terminal) *cobra.Command {
	var query client.TransformDefinitionQuery
	command := &cobra.Command{Use: "definition DEFINITION", Short: "Show a definition", Args: cobra.ExactArgs(1)}
	command.Flags().IntVar(&query.Version, "version", 0, "the current one by default")
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		got, err := server.TransformDefinition(ctx, args[0], query)
		if err != nil {
			return err
		}
		return printOne(term, shared, &got, printDefinition)
	})
	return command
}

func archiveDefinitionCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{
		Use: "archive DEFINITION", Short: "Archive a definition: it cannot be run", Args: cobra.ExactArgs(1),
	}
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		got, err := server.UpdateTransformDefinition(ctx, args[0],
			client.DefinitionPatch{Status: changeTo(parley.AgentArchived)})
		if err != nil {
			return err
		}
		return printOne(term, shared, &got, asRow(transformsDefinitionsTable()))
	})
	return command
}
