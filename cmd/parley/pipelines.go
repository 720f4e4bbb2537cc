package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"example.org/parley"
	"example.org/parley/client"
	"example.org/parley/event"
)

func pipelinesCommand(shared *flags, term terminal) *cobra.Command {
	command := &cobra.Command{Use: "pipelines", Short: "Run transforms that read what others write"}
	command.AddCommand(
		pipelinesListCommand(shared, term),
		pipelinesShowCommand(shared, term),
		pipelinesRunCommand(shared, term),
		pipelinesExampleCommand(shared, term),
		pipelinesWatchCommand(shared, term),
		pipelinesCancelCommand(shared, term),
		pipelinesRetryCommand(shared, term),
	)
	return command
}

// maxPipelineFile bounds the file of a pipeline.
const maxPipelineFile = parley.MaxBodyBytes

func pipelinesRunCommand(shared *flags, term terminal) *cobra.Command {
	var agent, project string
	var documents []string
	var detach bool
	command := &cobra.Command{
		Use:   "run FILE",
		Short: "Start a run of the pipeline in a file, and print how far it is",
		Args:  cobra.ExactArgs(1),
		Long: "Start a run of the pipeline in a JSON file (- for standard input), as POST /v1/pipeline-runs takes " +
			"it, and\nprint how far it is. Ctrl-C leaves it running; parley pipelines cancel ends it.",
		RunE: shared.asking(func(ctx context.Context, server *client.Client, args []string) error {
			input, err := readPipeline(args[0])
			if err != nil {
				return err
			}
			if agent != "" {
				input.AgentID = agent
			}
			if project != "" {
				if input.ProjectID, err = parley.ParseID(project); err != nil {
					return err
				}
			}
			for _, given := range documents {
				document, err := pipelineDocument(given)
				if err != nil {
					return err
				}
				input.Documents = append(input.Documents, document)
			}
			run, err := server.StartPipelineRun(ctx, input)
			if err != nil || !detach {
				return followRun(ctx, server, shared, term, run, err)
			}
			return printOne(term, shared, &run, printPipelineRun)
		}),
	}
	command.Flags().StringVar(&agent, "agent", "", "agent of the nodes that name no other, by id or slug")
	command.Flags().StringVar(&project, "project", "", "project of the documents, by id")
	command.Flags().StringArrayVar(&documents, "document", nil, "a document for the nodes, as NAME=ARTIFACT[@VERSION]")
	command.Flags().BoolVar(&detach, "detach", false, "do not wait for it")
	return command
}

// readPipeline reads the input of a run from a file, or from standard input.
func readPipeline(path string) (input client.PipelineInput, err error) {
	from := os.Stdin
	if path != "-" {
		if from, err = os.Open(path); err != nil { //nolint:gosec // the user's own file
			return input, err
		}
		defer from.Close() //nolint:errcheck // it was only read
	}
	data, err := io.ReadAll(io.LimitReader(from, maxPipelineFile+1))
	if err != nil {
		return input, err
	}
	if len(data) > maxPipelineFile {
		return input, parley.Errorf(parley.CodeTooLarge, "%s is longer than %d bytes", path, maxPipelineFile)
	}
	if err := json.Unmarshal(data, &input); err != nil {
		return input, parley.Errorf(parley.CodeInvalid, "%s is not a pipeline in JSON: %s", path, err)
	}
	return input, nil
}

// pipelineDocument reads NAME=ARTIFACT[@VERSION].
func pipelineDocument(text string) (given client.PipelineDocumentInput, err error) {
	name, artifact, found := strings.Cut(text, "=")
	artifact, version, numbered := strings.Cut(artifact, "@")
	if !found {
		return given, parley.InvalidField("document", "must be NAME=ARTIFACT or NAME=ARTIFACT@VERSION")
	}
	given.Name = name
	if given.ArtifactID, err = parley.ParseID(artifact); err != nil {
		return given, err
	}
	if numbered {
		if given.Version, err = strconv.Atoi(version); err != nil {
			return given, parley.InvalidField("document", "%q is not the number of a version", version)
		}
	}
	return given, nil
}

func pipelinesExampleCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "example",
		Short: "Run a pipeline that the simulator plays: ideas, outline, chapters, summary",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			run, err := server.StartExamplePipeline(ctx)
			return followRun(ctx, server, shared, term, run, err)
		}),
	}
}

func pipelinesWatchCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "watch RUN",
		Short: "Print how far a run is, until it ends",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			run, err := server.PipelineRun(ctx, id)
			return followRun(ctx, server, shared, term, run, err)
		}),
	}
}

func pipelinesCancelCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run, and wait until it has ended; what has completed stays",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			run, err := server.CancelPipelineRun(ctx, id)
			if err == nil && !run.Status.Finished() { // its transforms are being stopped
				run, err = watchRun(ctx, server, run, func(*event.ToolProgress) {})
			}
			if err != nil {
				return err
			}
			return printOne(term, shared, &run, printPipelineRun)
		}),
	}
}

func pipelinesRetryCommand(shared *flags, term terminal) *cobra.Command {
	var detach bool
	command := &cobra.Command{
		Use:   "retry RUN",
		Short: "Resume a run where it failed or was cancelled, and print how far it is",
		Args:  cobra.ExactArgs(1),
		RunE: shared.about(func(ctx context.Context, server *client.Client, id parley.ID, _ []string) error {
			run, err := server.RetryPipelineRun(ctx, id)
			if err != nil || !detach {
				return followRun(ctx, server, shared, term, run, err)
			}
			return printOne(term, shared, &run, printPipelineRun)
		}),
	}
	command.Flags().BoolVar(&detach, "detach", false, "do not wait for it")
	return command
}

// followRun prints what happens in a run until it ends, then its documents. A run that does not complete is an error
// that has been told.
func followRun(
	ctx context.Context, server *client.Client, shared *flags, term terminal, run parley.PipelineRun, err error,
) error {
	if err != nil {
		return err
	}
	if !shared.json {
		fmt.Fprintf(term.err, "run %s\n", run.ID)
	}
	run, err = watchRun(ctx, server, run, func(told *event.ToolProgress) {
		if !shared.json {
			fmt.Fprintf(term.err, "[%s, %g of %g]\n", told.Message, told.Progress, parley.ValueOf(told.Total))
		}
	})
	if err != nil {
		return err
	}
	if err := printOne(term, shared, &run, printPipelineRun); err != nil {
		return err
	}
	if run.Status.Finished() && run.Status != parley.PipelineCompleted {
		return errQuiet
	}
	return nil
}

// watchRun tells of the nodes of a run until it ends, and returns it.
func watchRun(
	ctx context.Context, server *client.Client, run parley.PipelineRun, tell func(*event.ToolProgress),
) (parley.PipelineRun, error) {
	for frame, err := range server.WatchSession(ctx, run.ID, client.WatchSessionQuery{}) {
		if err != nil {
			return run, err
		}
		ended := false
		switch told := frame.Event.(type) {
		case *event.ToolProgress:
			tell(told)
		case *event.PipelineUpdated:
			ended = told.Status.Finished()
		}
		if !ended {
			continue
		}
		run, err = server.PipelineRun(ctx, run.ID)
		if err != nil || run.Status.Finished() { // nobody has retried it since
			return run, err
		}
	}
	return run, nil
}

// pipelineDone says how many nodes of a run have completed.
func pipelineDone(run *parley.PipelineRun) string {
	done := 0
	for i := range run.Nodes {
		if run.Nodes[i].Status == parley.PipelineCompleted {
			done++
		}
	}
	return fmt.Sprintf("%d of %d", done, len(run.Nodes))
}

func pipelineCost(run *parley.PipelineRun) string { return run.Cost.String() }

// printPipelineRun prints a run: a row for each transform, and what it wrote.
func printPipelineRun(t terminal, run *parley.PipelineRun) error {
	if _, err := fmt.Fprintf(t.out, "%s: %s, cost %s\n\n", run.Name, run.Status, run.Cost); err != nil {
		return err
	}
	var rows [][]string
	for i := range run.Nodes {
		n := &run.Nodes[i]
		if len(n.Instances) == 0 {
			rows = append(rows, []string{n.Node.Name, string(n.Status), "-", "-", cmp.Or(n.Failure, "-")})
		}
		for at := range n.Instances {
			one := &n.Instances[at]
			name, wrote := n.Node.Name, "-"
			if n.Node.ForEach() {
				name += " " + strconv.Itoa(at+1)
			}
			if len(one.Outputs) > 0 {
				wrote = fmt.Sprintf("%s@%d", one.Outputs[0].ArtifactID, one.Outputs[0].Version)
			}
			rows = append(rows, []string{
				name, string(one.Status), cmp.Or(one.TransformID.String(), "-"), wrote, cmp.Or(one.Failure, "-"),
			})
		}
	}
	return t.printTable([]string{"NODE", "STATUS", "TRANSFORM", "DOCUMENT", "FAILURE"}, rows)
}
