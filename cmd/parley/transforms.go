package main

import (
	"context"
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

// transformWrites returns the versions that a transform has written, on one line.
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
		}
		written = append(written, text)
	}
	return strings.Join(written, ", ")
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
		return printOne(term, shared, &got, asRow(transformsTable()))
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
	command := &cobra.Command{
		Use:   "run [INSTRUCTIONS]",
		Short: "Run a transform, by itself or by a definition",
		Args:  cobra.MaximumNArgs(1),
	}
	set := command.Flags()
	set.StringVar(&input.Definition, "definition", "", "the definition to run, by id or slug")
	set.StringVar(&input.Name, "name", "", "its name")
	set.StringVar(&input.AgentID, "agent", "", "the agent whose system prompt counts; parley by default")
	set.StringVar(&model, "model", "", "the model, such as openai/gpt-5")
	set.StringArrayVar(&inputs, "input", nil, "what to read, as ARTIFACT[@VERSION][#POINTER]; repeatable")
	set.StringVar(&output, "output", "", "the artifact to write; without it, one is created")
	set.StringVar(&kind, "kind", "markdown", "kind of the artifact that is created")
	set.StringVar(&title, "title", "", "its name; that of the transform by default")
	command.RunE = shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
		if len(args) == 1 {
			input.Instructions = args[0]
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
		if output != "" || input.Definition == "" {
			input.Outputs = append(input.Outputs, target)
		}
		made, err := server.RunTransform(ctx, input)
		if err != nil {
			return err
		}
		return printOne(term, shared, &made, asRow(transformsTable()))
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
		return printOne(term, shared, &got, asRow(transformsDefinitionsTable()))
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
