"""Groups and linkages: parts of skeletons handled as one."""
