/* Settings of a CreateJob body that become something else here. Internal to this folder. */
#ifndef DIALECT_DLC_SETTINGS_H
#define DIALECT_DLC_SETTINGS_H

#include "base/report.h"
#include "job/job.h"

struct dlc_create;
/* Settings.AdvancedSettings. */
struct dlc_advanced_settings {
    bool services; /* createSvcForAllWorkers */
    struct port_request *ports;
    size_t n_ports; /* customPortList, customPortNumPerWorker */
};
void dlc_advanced_read(const struct dlc_create *, struct dlc_advanced_settings *, struct report *);
/* Settings.ErrorMonitoringArgs as retry rules; what has no effect here is warned about. */
void dlc_monitor_read(const struct dlc_create *, struct retry *, struct report *);

#endif
