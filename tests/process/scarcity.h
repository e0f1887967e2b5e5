// SPDX-License-Identifier: Apache-2.0
// Scenarios in which the system has nothing more to give. Each returns an exit code: 0, or the number of the step that went wrong.
#pragma once

int worker_fails();
int system_refuses_pages();
int system_refuses_addresses();
