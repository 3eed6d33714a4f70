"""What both backends on Kubernetes see of a pod through the cluster's API."""
