"""Devices: motors, drives, sensors, wheels and thrusters as models of `kido.systems`."""

from kido.devices.air import Parachute, Propeller
from kido.devices.attitude import (
    AttitudeEstimator,
    AttitudeFeedback,
    EigenaxisSlew,
    MomentumDumping,
    WheelMotor,
    WheelSet,
    rodrigues_parameters,
)
from kido.devices.cables import Cable, Rigging, Winch
from kido.devices.descent import BallisticEntry, PoweredDescent, Propellant, ThrusterCluster
from kido.devices.drives import PID, CascadedDrive, Gear, JointFriction, Servo
from kido.devices.motors import BrushlessMotor, DCMotor, FieldControl, Winding
from kido.devices.navigation import GPS, IMU, Altimeter, StarTracker, SunSensor
from kido.devices.power import Battery
from kido.devices.sensors import (
    Encoder,
    ForceSensor,
    ForceTorqueSensor,
    Potentiometer,
    Sensor,
    Tachometer,
    TorqueSensor,
)
from kido.devices.soil import Soil, SoilContact, SoilTrack, SoilWheel
from kido.devices.spacecraft import ControlMomentGyro, ReactionWheel, Rendezvous, Thruster
from kido.devices.steering import Ackermann, DeadReckoning, EnergyMeter, PurePursuit, WayPoints, WheelDrive
from kido.devices.tanks import Slosh, SloshTank, slosh
from kido.devices.tracks import BeltTrack
from kido.devices.vision import ImageSensor, Lidar
from kido.devices.wheels import WheelContact, WheelOnSoil

__all__ = [
    "GPS",
    "IMU",
    "PID",
    "Ackermann",
    "Altimeter",
    "AttitudeEstimator",
    "AttitudeFeedback",
    "BallisticEntry",
    "Battery",
    "BeltTrack",
    "BrushlessMotor",
    "Cable",
    "CascadedDrive",
    "ControlMomentGyro",
    "DCMotor",
    "DeadReckoning",
    "EigenaxisSlew",
    "Encoder",
    "EnergyMeter",
    "FieldControl",
    "ForceSensor",
    "ForceTorqueSensor",
    "Gear",
    "ImageSensor",
    "JointFriction",
    "Lidar",
    "MomentumDumping",
    "Parachute",
    "Potentiometer",
    "PoweredDescent",
    "Propellant",
    "Propeller",
    "PurePursuit",
    "ReactionWheel",
    "Rendezvous",
    "Rigging",
    "Sensor",
    "Servo",
    "Slosh",
    "SloshTank",
    "Soil",
    "SoilContact",
    "SoilTrack",
    "SoilWheel",
    "StarTracker",
    "SunSensor",
    "Tachometer",
    "Thruster",
    "ThrusterCluster",
    "TorqueSensor",
    "WayPoints",
    "WheelContact",
    "WheelDrive",
    "WheelMotor",
    "WheelOnSoil",
    "WheelSet",
    "Winch",
    "Winding",
    "rodrigues_parameters",
    "slosh",
]
