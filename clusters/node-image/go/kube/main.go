// Command kubeall holds every Kubernetes program that a node needs, and etcd, in one static file.
//
// One file instead of eight shares the code that all of them link: 158 MB instead of more than 500. It acts as
// the program whose name it is called by, so each name is a symbolic link to it.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	_ "time/tzdata" // the images have no zoneinfo, and CronJobs may name a time zone

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmutil "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// programs maps a name to what the program of that name does; none of them returns after a failure.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          server(apiserver.NewAPIServerCommand),
	"kube-controller-manager": server(controllers.NewControllerManagerCommand),
	"kube-proxy":              server(proxy.NewProxyCommand),
	"kube-scheduler":          server(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubeadm":                 func() { kubeadmutil.HandleError(kubeadm.Run()) },
	"kubectl":                 runKubectl,
	"kubelet":                 server(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
}

// server makes a program of a component's command.
func server(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func runKubectl() {
	// kubectl logs before it has parsed its flags, so the verbosity is taken from them by hand.
	if _, err := logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
}

func main() {
	run, known := programs[filepath.Base(os.Args[0])]
	if !known {
		fmt.Fprintf(os.Stderr, "call this by one of the names %s\n", strings.Join(names(), ", "))
		os.Exit(2)
	}
	run()
}

func names() []string {
	known := make([]string, 0, len(programs))
	for name := range programs {
		known = append(known, name)
	}
	slices.Sort(known)
	return known
}
