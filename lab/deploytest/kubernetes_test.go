package deploytest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/tandian-dev/tandian/internal/config"
)

// A manifest holds the tested fields of a Kubernetes object.
type manifest struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Data     map[string]string
	Spec     struct {
		Replicas     int
		MinAvailable int       `yaml:"minAvailable"`
		Selector     yaml.Node // of a Service a map, else with matchLabels
		PodSelector  labels    `yaml:"podSelector"`
		PolicyTypes  []string  `yaml:"policyTypes"`
		Ingress      []struct {
			Ports []struct{ Port string }
			From  []struct {
				PodSelector       labels `yaml:"podSelector"`
				NamespaceSelector labels `yaml:"namespaceSelector"`
			}
		}
		Ports    []struct{ Port int }
		Strategy struct {
			RollingUpdate struct {
				MaxUnavailable int `yaml:"maxUnavailable"`
			} `yaml:"rollingUpdate"`
		}
		Template struct {
			Metadata struct{ Labels, Annotations map[string]string }
			Spec     pod
		}
	}
}

type labels struct {
	MatchLabels map[string]string `yaml:"matchLabels"`
}

type pod struct {
	Grace           int `yaml:"terminationGracePeriodSeconds"`
	SecurityContext struct {
		RunAsNonRoot bool `yaml:"runAsNonRoot"`
	} `yaml:"securityContext"`
	Containers []struct {
		Name, Image string
		Ports       []struct {
			Name          string
			ContainerPort int `yaml:"containerPort"`
		}
		Env []struct {
			Name, Value string
			ValueFrom   struct {
				SecretKeyRef struct{ Name, Key string } `yaml:"secretKeyRef"`
			} `yaml:"valueFrom"`
		}
		Resources      struct{ Requests, Limits map[string]string }
		LivenessProbe  probe `yaml:"livenessProbe"`
		ReadinessProbe probe `yaml:"readinessProbe"`
		Lifecycle      struct {
			PreStop struct{ Sleep struct{ Seconds int } } `yaml:"preStop"`
		}
		SecurityContext struct {
			Escalation bool                    `yaml:"allowPrivilegeEscalation"`
			ReadOnly   bool                    `yaml:"readOnlyRootFilesystem"`
			Drop       struct{ Drop []string } `yaml:"capabilities"`
		} `yaml:"securityContext"`
		VolumeMounts []struct {
			Name string
		} `yaml:"volumeMounts"`
	}
	Volumes []struct {
		Name     string
		EmptyDir struct {
			SizeLimit string `yaml:"sizeLimit"`
		} `yaml:"emptyDir"`
	}
}

type probe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
	TCP     struct{ Port string }       `yaml:"tcpSocket"`
}

func readManifests(t *testing.T, path string) map[string]manifest {
	t.Helper()
	text, err := os.ReadFile(File(path))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]manifest{}
	for documents := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var m manifest
		err := documents.Decode(&m)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if m.Kind == "" || m.Metadata.Name == "" || m.Metadata.Namespace != "tandian" {
			t.Fatalf("%s: %+v", path, m.Metadata)
		}
		all[m.Kind] = m
	}
}

func TestKubernetesServersAreHardenedAndBounded(t *testing.T) {
	all := readManifests(t, "deploy/kubernetes/tandian.yaml")
	d := all["Deployment"].Spec
	spec := d.Template.Spec
	if d.Replicas < 2 || d.Strategy.RollingUpdate.MaxUnavailable != 0 || all["PodDisruptionBudget"].Spec.MinAvailable != 1 {
		t.Errorf("servers are replaced so that none is left: %+v", d)
	}
	if len(spec.Containers) != 1 || !spec.SecurityContext.RunAsNonRoot {
		t.Fatalf("%+v", spec)
	}
	c := spec.Containers[0]
	if c.ReadinessProbe.HTTPGet.Path != "/readyz" || c.LivenessProbe.HTTPGet.Path != "/healthz" {
		t.Errorf("probes: %+v, %+v", c.ReadinessProbe, c.LivenessProbe)
	}
	if !c.SecurityContext.ReadOnly || c.SecurityContext.Escalation || len(c.SecurityContext.Drop.Drop) != 1 || c.SecurityContext.Drop.Drop[0] != "ALL" {
		t.Errorf("rights: %+v", c.SecurityContext)
	}
	if c.Resources.Requests["cpu"] == "" || c.Resources.Requests["memory"] == "" || c.Resources.Limits["memory"] == "" {
		t.Errorf("resources: %+v", c.Resources)
	}
	stop, err := time.ParseDuration(all["ConfigMap"].Data["TANDIAN_STOP_TIMEOUT"])
	if pre := c.Lifecycle.PreStop.Sleep.Seconds; err != nil || pre < 3 || time.Duration(spec.Grace-pre)*time.Second < stop+15*time.Second {
		t.Errorf("pod has %d s to stop, %d of them before SIGTERM; requests have %v (%v)", spec.Grace, pre, stop, err)
	}
	mounted := map[string]bool{}
	for _, v := range spec.Volumes {
		mounted[v.Name] = true
	}
	for _, m := range c.VolumeMounts {
		if !mounted[m.Name] {
			t.Errorf("volume %s not found", m.Name)
		}
	}

	// Settings are known. Secrets are not in files.
	cfg := config.Default()
	known := map[string]bool{"AWS_ACCESS_KEY_ID": true, "AWS_SECRET_ACCESS_KEY": true} // of the bucket
	cfg.Flags().VisitAll(func(f *pflag.Flag) { known[config.Variable(f.Name)] = true })
	secret := map[string]bool{}
	for _, e := range c.Env {
		if !known[e.Name] {
			t.Errorf("unknown setting %s", e.Name)
		}
		if e.Value != "" || e.ValueFrom.SecretKeyRef.Key == "" {
			t.Errorf("%s is not from the secret", e.Name)
		}
		secret[e.Name] = true
	}
	for name := range all["ConfigMap"].Data {
		if !known[name] {
			t.Errorf("unknown setting %s", name)
		}
		if strings.Contains(name, "SECRET") {
			t.Errorf("%s is in the file", name)
		}
	}
	for _, name := range []string{"DATABASE_URL", "REDIS_URL", "REDIS_CACHE_URL", "AWS_SECRET_ACCESS_KEY", "TANDIAN_PAYMENT_WEBHOOK_SECRET", "TANDIAN_CODE_WEBHOOK_SECRET"} {
		if !secret[name] {
			t.Errorf("%s is not set", name)
		}
	}
	// The server itself takes nine tenths of the container's limit; this setting would override it.
	if secret["GOMEMLIMIT"] || all["ConfigMap"].Data["GOMEMLIMIT"] != "" {
		t.Error("GOMEMLIMIT is set")
	}

	// The selectors match the pods, and only nginx and Prometheus may connect.
	pods := d.Template.Metadata.Labels
	var service map[string]string
	if err := all["Service"].selector(&service); err != nil {
		t.Fatal(err)
	}
	var budget labels
	if err := all["PodDisruptionBudget"].selector(&budget); err != nil {
		t.Fatal(err)
	}
	for what, selected := range map[string]map[string]string{
		"Service": service, "PodDisruptionBudget": budget.MatchLabels, "NetworkPolicy": all["NetworkPolicy"].Spec.PodSelector.MatchLabels,
	} {
		if len(selected) == 0 {
			t.Errorf("%s selects everything", what)
		}
		for k, v := range selected {
			if pods[k] != v {
				t.Errorf("%s looks for %s=%s, the pods have %q", what, k, v, pods[k])
			}
		}
	}
	if p := all["NetworkPolicy"].Spec.PolicyTypes; len(p) != 1 || p[0] != "Ingress" {
		t.Errorf("the policy is of %q", p)
	}
}

// Port 8080 trusts the client address that its peer names. Monitoring connects to the port
// of /metrics only.
func TestMonitoringReachesOnlyTheMetricsPort(t *testing.T) {
	all := readManifests(t, "deploy/kubernetes/tandian.yaml")
	pod := all["Deployment"].Spec.Template
	port := strings.TrimPrefix(all["ConfigMap"].Data["TANDIAN_METRICS_ADDR"], ":")
	ports := map[string]int{}
	for _, p := range pod.Spec.Containers[0].Ports {
		ports[p.Name] = p.ContainerPort
	}
	if port == "" || strconv.Itoa(ports["metrics"]) != port || pod.Metadata.Annotations["prometheus.io/port"] != port || ports["http"] != 8080 {
		t.Errorf("metrics are at %q, ports are %v, Prometheus asks %v", port, ports, pod.Metadata.Annotations)
	}
	peers := map[string]string{}
	for _, rule := range all["NetworkPolicy"].Spec.Ingress {
		if len(rule.Ports) != 1 || len(rule.From) != 1 {
			t.Fatalf("a rule has %d ports and %d peers", len(rule.Ports), len(rule.From))
		}
		from := rule.From[0]
		peers[rule.Ports[0].Port] += from.PodSelector.MatchLabels["app.kubernetes.io/component"] + from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
	}
	if len(peers) != 2 || peers["http"] != "nginx" || peers["metrics"] != "monitoring" {
		t.Errorf("peers by port: %v", peers)
	}
}

// nginx's volume of bodies and its cache fit what nginx.conf allows.
func TestNginxVolumesFitTheirContents(t *testing.T) {
	conf, err := os.ReadFile(File("deploy/nginx.conf"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(pattern string) int {
		t.Helper()
		m := regexp.MustCompile(pattern).FindStringSubmatch(string(conf))
		if m == nil {
			t.Fatalf("nginx.conf has no %s", pattern)
		}
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const workers = 8
	bodies := number(`limit_conn large_bodies (\d+);`)*number(`client_max_body_size (\d+)m;`) +
		workers*number(`worker_connections (\d+);`)*number(`client_max_body_size (\d+)k;`)/1024
	cache := number(`keys_zone=files:10m max_size=(\d+)g`)*1024 + number(`keys_zone=answers:10m max_size=(\d+)m`)
	sizes := map[string]int{}
	for _, v := range readManifests(t, "deploy/kubernetes/nginx.yaml")["Deployment"].Spec.Template.Spec.Volumes {
		gib, found := strings.CutSuffix(v.EmptyDir.SizeLimit, "Gi")
		if n, err := strconv.Atoi(gib); found && err == nil {
			sizes[v.Name] = n * 1024
		}
	}
	if sizes["bodies"] < bodies {
		t.Errorf("the volume of bodies has %d MiB, nginx.conf allows %d", sizes["bodies"], bodies)
	}
	if sizes["cache"] < cache+1024 {
		t.Errorf("the cache volume has %d MiB, nginx.conf allows %d and temporary files", sizes["cache"], cache)
	}
}

func (m manifest) selector(into any) error { return m.Spec.Selector.Decode(into) }

func TestKubernetesNginxProxiesToTheService(t *testing.T) {
	servers := readManifests(t, "deploy/kubernetes/tandian.yaml")
	all := readManifests(t, "deploy/kubernetes/nginx.yaml")
	c := all["Deployment"].Spec.Template.Spec.Containers[0]
	compose := readCompose(t)
	if c.Image != compose.Services["nginx"].Image {
		t.Errorf("nginx is %s here and %s in docker-compose.yml", c.Image, compose.Services["nginx"].Image)
	}
	if !c.SecurityContext.ReadOnly || !all["Deployment"].Spec.Template.Spec.SecurityContext.RunAsNonRoot || c.Resources.Limits["memory"] == "" {
		t.Errorf("%+v", c)
	}
	if c.ReadinessProbe.TCP.Port == "" || c.LivenessProbe.TCP.Port == "" {
		t.Error("a probe of nginx depends on the servers")
	}
	list, err := os.ReadFile(File("deploy/kubernetes/tandian-servers.conf"))
	if err != nil {
		t.Fatal(err)
	}
	if service := servers["Service"]; strings.Count(string(list), "\nserver "+service.Metadata.Name+":8080 max_fails=0;") != 2 || service.Spec.Ports[0].Port != 8080 {
		t.Errorf("nginx does not ask the Service twice:\n%s", list)
	}
}
