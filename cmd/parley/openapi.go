package main

import (
	"github.com/spf13/cobra"

	"example.org/parley/httpapi"
)

func openapiCommand(term terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "openapi",
		Short: "Print the API's OpenAPI 3.1 document",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			document, err := httpapi.Document()
			if err != nil {
				return err
			}
			_, err = term.exact.Write(document)
			return err
		},
	}
}
