"""What an on-call engineer sees of an app in any cluster, through its API alone."""
