package check

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

// decoder reads manifests as the API server does with strict field validation: unknown and duplicate fields and wrong
// types are errors.
func decoder(t *testing.T) runtime.Decoder {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		appsv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme,
		networkingv1.AddToScheme, policyv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
}

// kustomization holds the parts of that file that this test checks.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string `json:"namespace"`
	Labels          []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Images []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
	Resources []string `json:"resources"`
}

// cluster holds every object of the manifests, by what this test checks.
type cluster struct {
	pods        map[string]podOwner // by the owner's name
	services    map[string]*corev1.Service
	settings    map[string]*corev1.ConfigMap
	budgets     []*policyv1.PodDisruptionBudget
	scalers     []*autoscalingv2.HorizontalPodAutoscaler
	policies    []*networkingv1.NetworkPolicy
	ingresses   []*networkingv1.Ingress
	deployments map[string]*appsv1.Deployment
}

type podOwner struct {
	template corev1.PodTemplateSpec
	serves   bool
}

func manifests(t *testing.T) cluster {
	t.Helper()
	var k kustomization
	if err := yaml.UnmarshalStrict([]byte(read(t, "kubernetes/kustomization.yaml")), &k); err != nil {
		t.Fatal(err)
	}
	var named []string
	for _, name := range files(t, "kubernetes/*.yaml") {
		if name = strings.TrimPrefix(name, "kubernetes/"); name != "kustomization.yaml" {
			named = append(named, name)
		}
	}
	slices.Sort(k.Resources)
	if !slices.Equal(named, k.Resources) {
		t.Errorf("the kustomization names %v, there are %v", k.Resources, named)
	}
	c := cluster{
		pods:        map[string]podOwner{},
		services:    map[string]*corev1.Service{},
		settings:    map[string]*corev1.ConfigMap{},
		deployments: map[string]*appsv1.Deployment{},
	}
	reads := decoder(t)
	for _, name := range named {
		for document := range strings.SplitSeq(read(t, "kubernetes/"+name), "\n---\n") {
			object, _, err := reads.Decode([]byte(document), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			c.take(t, object)
		}
	}
	return c
}

func (c *cluster) take(t *testing.T, object runtime.Object) {
	t.Helper()
	switch o := object.(type) {
	case *appsv1.Deployment:
		c.deployments[o.Name], c.pods[o.Name] = o, podOwner{o.Spec.Template, true}
	case *batchv1.Job:
		c.pods[o.Name] = podOwner{o.Spec.Template, false}
	case *corev1.Service:
		c.services[o.Name] = o
	case *corev1.ConfigMap:
		c.settings[o.Name] = o
	case *policyv1.PodDisruptionBudget:
		c.budgets = append(c.budgets, o)
	case *autoscalingv2.HorizontalPodAutoscaler:
		c.scalers = append(c.scalers, o)
	case *networkingv1.NetworkPolicy:
		c.policies = append(c.policies, o)
	case *networkingv1.Ingress:
		c.ingresses = append(c.ingresses, o)
	default:
		t.Errorf("no check covers %T", object)
	}
}

// TestManifestsDecodeStrictly also shows that the decoder refuses mistakes.
func TestManifestsDecodeStrictly(t *testing.T) {
	t.Parallel()
	manifests(t)
	text, _, _ := strings.Cut(read(t, "kubernetes/api.yaml"), "\n---\n")
	for name, change := range map[string][2]string{
		"an unknown field": {"readOnlyRootFilesystem", "readOnlyRootFileSystem"},
		"a wrong type":     {"containerPort: 7878", `containerPort: "http"`},
		"a wrong version":  {"apps/v1", "apps/v1beta1"},
	} {
		if _, _, err := decoder(
			t,
		).Decode([]byte(strings.ReplaceAll(text, change[0], change[1])), nil, nil); err == nil {
			t.Errorf("the decoder accepts %s", name)
		}
	}
}

// TestPodsAreHardened: a user other than root, no writable path but the small data directory, no privileges, no cluster
// account.
func TestPodsAreHardened(t *testing.T) {
	t.Parallel()
	for name, owner := range manifests(t).pods {
		spec := owner.template.Spec
		pod, container := spec.SecurityContext, spec.Containers[0]
		own := container.SecurityContext
		switch {
		case len(spec.Containers) != 1:
			t.Errorf("%s has %d containers", name, len(spec.Containers))
		case !*pod.RunAsNonRoot || *pod.RunAsUser == 0 ||
			pod.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s: the pod's security is %+v", name, pod)
		case *own.AllowPrivilegeEscalation || !*own.ReadOnlyRootFilesystem ||
			!slices.Equal(own.Capabilities.Drop, []corev1.Capability{"ALL"}):
			t.Errorf("%s: the container's security is %+v", name, own)
		case *spec.AutomountServiceAccountToken:
			t.Errorf("%s mounts an account of the cluster", name)
		case container.Resources.Requests.Cpu().IsZero() || container.Resources.Requests.Memory().IsZero() ||
			container.Resources.Limits.Memory().IsZero():
			t.Errorf("%s requests no resources", name)
		case container.Image != "parley":
			t.Errorf("%s runs %s, which the kustomization does not replace", name, container.Image)
		}
		mounted := slices.ContainsFunc(
			container.VolumeMounts,
			func(m corev1.VolumeMount) bool { return m.MountPath == "/var/lib/parley" },
		)
		if !mounted || !strings.Contains(read(t, "Dockerfile"), "PARLEY_DATA=/var/lib/parley ") {
			t.Errorf("%s has no data directory to write to", name)
		}
		checkCommand(t, name, container.Args)
	}
}

// TestPodsDrain: a process has the time that it needs before it is killed, and is probed where it answers.
func TestPodsDrain(t *testing.T) {
	t.Parallel()
	c := manifests(t)
	settings := c.settings["parley"].Data
	wait, err := time.ParseDuration(settings["PARLEY_DRAIN_WAIT"])
	if err != nil {
		t.Fatal(err)
	}
	drain, err := time.ParseDuration(settings["PARLEY_DRAIN"])
	if err != nil {
		t.Fatal(err)
	}
	_, metricsPort, _ := strings.Cut(settings["PARLEY_METRICS_ADDR"], ":")
	for name, deployment := range c.deployments {
		spec := deployment.Spec.Template.Spec
		if grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second; grace <= wait+drain+closeTime {
			t.Errorf("%s is killed after %s; a drain may take %s", name, grace, wait+drain+closeTime)
		}
		container := spec.Containers[0]
		ports := map[string]int32{}
		for _, port := range container.Ports {
			ports[port.Name] = port.ContainerPort
		}
		if ports["http"] != 7878 || !strings.Contains(read(t, "Dockerfile"), "PARLEY_ADDR=:7878") {
			t.Errorf("%s: the port of the API is %d", name, ports["http"])
		}
		if strconv.Itoa(int(ports["metrics"])) != metricsPort {
			t.Errorf("%s: the port of the metrics is %d, the settings say %q", name, ports["metrics"], metricsPort)
		}
		for which, probe := range map[string]*corev1.Probe{"/readyz ": container.StartupProbe,
			"/readyz": container.ReadinessProbe, "/healthz": container.LivenessProbe} {
			if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != strings.TrimSpace(which) ||
				ports[probe.HTTPGet.Port.StrVal] == 0 {
				t.Errorf("%s: the probe of %s is %+v", name, which, probe)
			}
		}
		if ready := container.ReadinessProbe; time.Duration(
			ready.PeriodSeconds*ready.FailureThreshold,
		)*time.Second > wait/2 {
			t.Errorf(
				"%s: a drain is noticed late: the probe takes %d times %d s, the process waits %s",
				name,
				ready.FailureThreshold,
				ready.PeriodSeconds,
				wait,
			)
		}
	}
}

// TestReferencesHold: selectors find pods, and referenced objects exist.
func TestReferencesHold(t *testing.T) {
	t.Parallel()
	c := manifests(t)
	finds := func(selector *metav1.LabelSelector) []string {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for name, owner := range c.pods {
			if parsed.Matches(labels.Set(owner.template.Labels)) {
				found = append(found, name)
			}
		}
		slices.Sort(found)
		return found
	}
	for name, deployment := range c.deployments {
		if got := finds(deployment.Spec.Selector); !slices.Equal(got, []string{name}) {
			t.Errorf("%s selects the pods of %v", name, got)
		}
	}
	for _, budget := range c.budgets {
		if got := finds(budget.Spec.Selector); !slices.Equal(got, []string{budget.Name}) {
			t.Errorf("the disruption budget %s is for %v", budget.Name, got)
		}
	}
	for _, policy := range c.policies {
		if got := finds(&policy.Spec.PodSelector); len(got) == 0 {
			t.Errorf("the network policy %s selects no pod", policy.Name)
		}
	}
	for _, scaler := range c.scalers {
		target := c.deployments[scaler.Spec.ScaleTargetRef.Name]
		if target == nil || target.Spec.Replicas != nil {
			t.Errorf(
				"%s scales %s, which is missing or sets its own number",
				scaler.Name,
				scaler.Spec.ScaleTargetRef.Name,
			)
		}
		for _, metric := range scaler.Spec.Metrics {
			if metric.External != nil &&
				!strings.Contains(sources(t, "telemetry/*.go"), `"`+metric.External.Metric.Name+`"`) {
				t.Errorf("%s uses %s, which the program does not count", scaler.Name, metric.External.Metric.Name)
			}
		}
	}
	for name, service := range c.services {
		if got := finds(metav1.SetAsLabelSelector(service.Spec.Selector)); !slices.Equal(got, []string{"parley-api"}) {
			t.Errorf("the service %s leads to %v", name, got)
		}
	}
	for _, ingress := range c.ingresses {
		for _, rule := range ingress.Spec.Rules {
			for _, path := range rule.HTTP.Paths {
				service := c.services[path.Backend.Service.Name]
				if service == nil || service.Spec.Ports[0].Name != path.Backend.Service.Port.Name {
					t.Errorf("the ingress %s leads to %+v", ingress.Name, path.Backend.Service)
				}
			}
		}
	}
}
