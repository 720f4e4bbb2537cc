module parley/llm/difftest

go 1.26.0

replace parley => ../..

replace github.com/google/pprof => github.com/google/pprof v0.0.0-20250317173921-a4b03ec1a45e

require (
	github.com/anthropics/anthropic-sdk-go v1.84.0
	github.com/openai/openai-go/v3 v3.95.0
	parley v0.0.0
)
