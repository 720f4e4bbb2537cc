package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.org/parley/client"
	"example.org/parley/model"
)

func modelsCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models that the server knows, with their prices",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			models, err := server.Models(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(models.Data)
			}
			rows := make([][]string, len(models.Data))
			for i, m := range models.Data {
				rows[i] = []string{string(m.ID), countOr(m.ContextLength), countOr(m.MaxOutput), priceOf(m)}
			}
			return term.printTable([]string{"MODEL", "CONTEXT", "ANSWER", "$ PER MILLION TOKENS IN / OUT"}, rows)
		}),
	}
}

func providersCommand(shared *flags, term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "providers",
		Short: "List the providers of models, and how to configure those that are missing",
		Args:  cobra.NoArgs,
		RunE: shared.asking(func(ctx context.Context, server *client.Client, _ []string) error {
			providers, err := server.Providers(ctx)
			if err != nil {
				return err
			}
			if shared.json {
				return term.printJSON(providers.Data)
			}
			rows := make([][]string, len(providers.Data))
			for i, p := range providers.Data {
				state := "configured"
				switch {
				case p.Simulator:
					state = "built in, makes its answers up"
				case !p.Configured:
					state = "set " + p.KeyEnv
				}
				rows[i] = []string{p.Name, state, string(p.DefaultModel), strconv.Itoa(p.Models)}
			}
			return term.printTable([]string{"PROVIDER", "STATE", "DEFAULT MODEL", "KNOWN MODELS"}, rows)
		}),
	}
}

// countOr is a number of tokens, or that it is not known.
func countOr(tokens int) string {
	if tokens == 0 {
		return "unknown"
	}
	return strconv.Itoa(tokens)
}

func priceOf(m model.Info) string {
	if m.Price == nil {
		return "unknown"
	}
	return fmt.Sprintf("%g / %g", m.Price.Input, m.Price.Output)
}
