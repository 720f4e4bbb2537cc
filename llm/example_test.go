package llm_test

import (
	"fmt"

	"example.org/parley/llm"
	"example.org/parley/llm/sim"
)

func Example() {
	registry, err := llm.NewRegistry(llm.Options{Providers: []llm.Provider{
		{
			Name:         sim.ProviderName,
			Model:        sim.New(),
			DefaultModel: sim.DefaultModel,
			Models:       sim.Models(),
			Simulator:    true,
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Default())
	_, info, err := registry.Resolve("sim/lorem-200-5")
	fmt.Println(info.ID, info.Simulator, err)
	// Output:
	// sim/echo
	// sim/lorem-200-5 true <nil>
}
