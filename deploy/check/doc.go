// Package check compares the files of deploy/ with the programs and schemas that read them, as far as possible without
// a container engine, a cluster or an init system: the Dockerfile with BuildKit's own linter, the compose file with its
// reference loader, the Kubernetes manifests by strict decoding into Kubernetes' types, the units with systemd-analyze,
// the proxies' configuration with the proxies, and every flag, variable and command in them with the binary. It is a
// module of its own so that Parley does not depend on any of these.
package check
